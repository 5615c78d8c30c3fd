/** By what pull tokens are told from other identities with keys of their own. */
export const PULL_TOKEN_ISSUER = 'https://pulltoken.issuer.berth'
