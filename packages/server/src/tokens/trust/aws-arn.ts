/** `arn:partition:service:region:account:resource`; the region and the account may be empty. */
const arnPattern = /^arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:([0-9]{12})?:\S.*$/

/**
 * Why `arn` cannot be who calls from an AWS account, or undefined when it can: an ARN that names the same account, if any
 * (AWS STS, GetCallerIdentity).
 */
export function checkArn(arn: string, account: string): string | undefined {
  const match = arnPattern.exec(arn)
  if (match === null)
    return 'must be an ARN such as arn:aws:sts::123456789012:assumed-role/role-name/session-name'
  if (match[1] !== undefined && match[1] !== account) return 'must lie in the account of awsAccount'
  return undefined
}
