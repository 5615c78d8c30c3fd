/** `arn:partition:service:region:account:resource`; the region and the account may be empty. */
const arnPattern = /^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:([0-9]{12})?:\S.*$/

/**
 * Returns why `arn` cannot be a caller from an AWS account; undefined if it can: an ARN of the same account or of none (AWS STS,
 * GetCallerIdentity).
 */
export function checkArn(arn: string, account: string): string | undefined {
  const match = arnPattern.exec(arn)
  if (match === null)
    return 'must be an ARN such as arn:aws:sts::123456789012:assumed-role/role-name/session-name'
  if (match[1] !== undefined && match[1] !== account) return 'must be in the account awsAccount'
  return undefined
}
