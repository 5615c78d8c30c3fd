import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkArn } from './aws-arn.ts'

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
    assert.equal(checkArn(arn, account), undefined, arn)
})

test('an invalid ARN, and one of another account, are rejected with their reason', () => {
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
    assert.match(checkArn(arn, account) ?? '', /^must be an ARN/, arn)
  for (const other of ['210987654321', '', 'x'])
    assert.match(checkArn('arn:aws:iam::123456789012:root', other) ?? '', /awsAccount/)
})
