/** `arn:partition:service:region:account:resource`; the region and the account may be empty. */
const arnPattern = /^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:([0-9]{12})?:\S.*$/

/** Returns why no caller from AWS has this ARN (AWS STS, GetCallerIdentity); undefined if one can have it. */
export function arnProblem(arn: string): string | undefined {
  return arnPattern.test(arn)
    ? undefined
    : 'must be an ARN such as arn:aws:sts::123456789012:assumed-role/role-name/session-name'
}

/** Returns why an ARN cannot be one of an account; undefined if it can: an ARN of the same account or of none, or no ARN. */
export function checkArnAccount(arn: string, account: string): string | undefined {
  const [, owner] = arnPattern.exec(arn) ?? []
  return owner !== undefined && owner !== account ? 'must be in the account awsAccount' : undefined
}
