import type { FieldValues } from '@berth/workloads/platforms.ts'
import { violationOf } from '../../api/query-client.ts'
import { Field, SelectField, TextAreaField } from '../../components/field.tsx'
import { type CustomKind, PATTERN } from './rule.ts'

interface RuleFieldsProps {
  readonly kind: CustomKind
  readonly values: FieldValues
  readonly onChange: (change: FieldValues) => void
  /** Why fields are invalid, by their names. */
  readonly problems: Readonly<Record<string, string>>
  /** Failure of the last attempt; a field shows its violation. */
  readonly failure: unknown
}

/** Returns what is wrong with a field: what the form says, otherwise the server. */
function problemOf(
  name: string,
  problems: Readonly<Record<string, string>>,
  failure: unknown,
): string | undefined {
  return problems[name] ?? violationOf(failure, name) ?? violationOf(failure, `${name}Pattern`)
}

/** The fields of a rule that is written by hand. */
export function RuleFields(props: RuleFieldsProps) {
  const { kind, values, onChange, problems, failure } = props
  const common = (name: string) => ({
    value: values[name] ?? '',
    onChange: (value: string) => onChange({ [name]: value }),
    problem: problemOf(name, problems, failure),
  })
  const match = (name: string, claim: string, label: string, hint: string) => (
    <div className="match">
      <Field label={label} hint={hint} {...common(name)} />
      <SelectField
        label={`Compare ${claim}`}
        choices={[
          { id: 'exact', name: 'Exactly' },
          { id: PATTERN, name: 'As pattern' },
        ]}
        value={values[`${name}Is`] === PATTERN ? PATTERN : 'exact'}
        onChange={(id) => onChange({ [`${name}Is`]: id === PATTERN ? PATTERN : '' })}
      />
    </div>
  )
  if (kind === 'aws')
    return (
      <>
        <Field label="AWS account" hint="12 digits" {...common('awsAccount')} />
        {match('arn', 'ARN', 'ARN', 'As aws sts get-caller-identity reports it')}
        {match(
          'userId',
          'user id',
          'User id',
          'For roles, the unique id and the session: AROAEXAMPLEID:session',
        )}
      </>
    )
  if (kind === 'static')
    return (
      <>
        <Field
          label="Issuer"
          hint="The iss claim, such as https://robots.example.com"
          {...common('issuer')}
        />
        <Field label="Subject" hint="The sub claim" {...common('subject')} />
        <TextAreaField
          label="Public keys"
          hint="A JSON Web Key Set. Private keys are rejected."
          isMonospace
          {...common('issuerKeys')}
        />
        <Field
          label="Keys expire"
          type="datetime-local"
          hint="At most 365 days after the identity is created"
          {...common('expires')}
          problem={problemOf('expires', problems, failure) ?? violationOf(failure, 'expirationTime')}
        />
        <Field
          label="Audience (optional)"
          hint="Empty: this server. Several are separated by spaces."
          {...common('audience')}
          problem={problemOf('audience', problems, failure) ?? problemOf('audiences', {}, failure)}
        />
      </>
    )
  return (
    <>
      {match('issuer', 'issuer', 'Issuer', 'The iss claim, such as https://issuer.example.com')}
      {match('subject', 'subject', 'Subject', 'The sub claim')}
      {match(
        'audience',
        'audience',
        'Audience (optional)',
        'The aud claim. Empty: the token service of this server.',
      )}
      <TextAreaField
        label="Other claims (optional)"
        hint="One per line, as name: value"
        rows={3}
        isMonospace
        {...common('claims')}
      />
      <TextAreaField
        label="Patterns of other claims (optional)"
        hint="One per line, as name: pattern. Patterns are RE2 and match the whole value."
        rows={3}
        isMonospace
        {...common('claimPatterns')}
      />
    </>
  )
}
