/** Issuer that marks an identity with static keys as a pull token. */
export const PULL_TOKEN_ISSUER = 'https://pulltoken.issuer.berth'
