import assert from 'node:assert/strict'
import { test } from 'node:test'
import { arnProblem, checkArnAccount } from './aws-arn.ts'

const account = '123456789012'

test('a caller from an account has an ARN of that account', () => {
  for (const arn of [
    'arn:aws:iam::123456789012:root',
    'arn:aws:iam::123456789012:user/path/alice',
    'arn:aws:sts::123456789012:assumed-role/builder/i-0123456789abcdef0',
    'arn:aws:sts::123456789012:federated-user/bob',
    'arn:aws-us-gov:sts::123456789012:assumed-role/builder/session',
    'arn:aws-cn:iam::123456789012:user/alice@example.com',
    'arn:aws:s3:::bucket',
    'arn:aws:lambda:eu-west-1:123456789012:function:name',
  ])
    assert.deepEqual([arnProblem(arn), checkArnAccount(arn, account)], [undefined, undefined], arn)
})

test('an invalid ARN matches no caller, and one of another account is rejected', () => {
  for (const arn of [
    '',
    'a',
    'arn:',
    'arn:aws:iam::123456789012',
    'arn:aws:iam::123456789012:',
    'arn:aws:iam::123456789012: x',
    'arn:aws:iam::12345678901:user/alice',
    'arn:gcp:iam::123456789012:user/alice',
    ' arn:aws:iam::123456789012:user/alice',
    'arn:aws:iam::123456789012:user/a\nb',
    'ARN:aws:iam::123456789012:user/alice',
  ])
    assert.deepEqual(
      [/^must be an ARN/.test(arnProblem(arn) ?? ''), checkArnAccount(arn, account)],
      [true, undefined],
      arn,
    )
  for (const other of ['210987654321', '', 'x'])
    assert.match(checkArnAccount('arn:aws:iam::123456789012:root', other) ?? '', /awsAccount/)
})
