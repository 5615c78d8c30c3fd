/** Values of the reference for policies: whole fields, by `Message.field`, as in example-values.ts. */

/** The system policy maximum-age. */
const POLICY = '156e07f192ba62a356df80a009ebd2ff31712873'

export function policyExamples(at: {
  readonly group: string
  readonly repo: string
  readonly identity: string
}): Readonly<Record<string, unknown>> {
  const { group, repo, identity } = at
  const custom = `${group}/51f2a9c04d7be683`
  const binding = `${repo}/0c9be4172fa8d356`
  const override = `${repo}/ae41d7093b6c52f8`
  const schema = {
    name: 'days',
    type: 'PARAMETER_TYPE_INTEGER',
    description: 'Greatest age in days.',
    default: 30,
    minimum: 1,
    maximum: 3650,
    allowedValues: [],
    required: false,
    deprecated: false,
  }
  return {
    'Policy.id': custom,
    'Policy.policy_type': 'POLICY_TYPE_CUSTOM',
    'Policy.supported_resource_types': ['image'],
    'Policy.parameter_schemas': [schema],
    'PolicyFilter.name': '',
    'CreatePolicyRequest.parent_id': group,
    'DeletePolicyRequest.id': custom,
    'ValidatePolicyRequest.parameter_schemas': [],
    'ValidatePolicyResponse.valid': false,
    'PolicyDiagnostic.line': 1,
    'PolicyDiagnostic.column': 7,
    'PolicyDiagnostic.message': 'image.size is unknown',
    'Binding.id': binding,
    'Binding.mode': 'POLICY_MODE_ENFORCED',
    'Binding.resource_types': ['image'],
    'Binding.parameters': { days: 30 },
    'CreateBindingRequest.parent_id': repo,
    'DeleteBindingRequest.id': binding,
    'Override.id': override,
    'Override.created_by': identity,
    'CreateOverrideRequest.parent_id': repo,
    'DeleteOverrideRequest.id': override,
    'Decision.id': `${repo}/6d0f83be15c7a942`,
    'Decision.repo_id': repo,
    'Decision.policy_id': POLICY,
    'Decision.policy_name': 'maximum-age',
    'Decision.mode': 'POLICY_MODE_ENFORCED',
    'Decision.result': 'RESULT_DENIED',
    'Decision.reason': 'it was created 45 days ago, and may be at most 30 days old',
    'Decision.pulled_on': { year: 2025, month: 1, day: 2 },
    'DecisionFilter.policy_id': '',
    'DecisionFilter.digest': '',
    'DecisionFilter.mode': 'POLICY_MODE_UNSPECIFIED',
    'DecisionFilter.result': 'RESULT_UNSPECIFIED',
    'DecisionFilter.since': { year: 2025, month: 1, day: 1 },
    'DecisionFilter.until': { year: 2025, month: 1, day: 31 },
    'Date.year': 2025,
    'Date.month': 1,
    'Date.day': 2,
  }
}
