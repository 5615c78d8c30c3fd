import type { RepoPolicy } from '@berth/client'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { type PolicyRules, policyQuery, retentionPreviewQuery } from '../../api/queries/registry/policies.ts'
import { ActionDialog } from '../../components/action-dialog.tsx'
import { CheckboxField, Field, SwitchField } from '../../components/field.tsx'
import { NotLoaded, type NotLoadedProps } from '../../components/loaded.tsx'
import { plural } from '../../components/quantity.tsx'
import { UnsavedChanges } from '../../components/unsaved-changes.tsx'
import { useLate } from '../../use-late.ts'
import { DURATION_HINT } from './duration.ts'
import {
  type DraftProblems,
  draftOf,
  isSameDraft,
  newRule,
  type PolicyDraft,
  type RuleDraft,
  readDraft,
} from './policy-draft.ts'
import { PolicyPreview, type PreviewCounts, previewCounts } from './policy-preview.tsx'

/** Edits a policy, and shows meanwhile what it would delete. Save and Discard are in reach as long as there are changes. */

const PAUSE_MS = 400
const PATTERN_HINT = 'Separated by spaces. * stands for any characters, ? for one.'

/** The version that is edited. */
interface Base {
  readonly etag: string | undefined
  readonly draft: PolicyDraft
  /** The version before it, which `policy` still is for a moment. */
  readonly replaces: string | undefined
}

function baseOf({ etag, value }: Versioned<RepoPolicy>, replaces?: string): Base {
  return { etag, draft: draftOf(value), replaces }
}

export function PolicyForm({
  repo,
  policy,
}: {
  readonly repo: string
  readonly policy: Versioned<RepoPolicy>
}) {
  const [base, setBase] = useState(() => baseOf(policy))
  const [draft, setDraft] = useState(base.draft)
  const [isSaving, setSaving] = useState(false)
  const isChanged = !isSameDraft(draft, base.draft)
  // Another user's change is shown immediately if nothing would be lost.
  useEffect(() => {
    if (isChanged || isSaving || policy.etag === base.etag || policy.etag === base.replaces) return
    const current = baseOf(policy)
    setBase(current)
    setDraft(current.draft)
  }, [policy, base, isChanged, isSaving])
  const { rules, problems } = readDraft(draft)
  const settled = useLate(rules, PAUSE_MS, JSON.stringify(rules))
  const preview = useInfiniteQuery(retentionPreviewQuery(repo, settled, true))
  const isCurrent = JSON.stringify(settled) === JSON.stringify(rules)
  const counts = isCurrent ? previewCounts(preview.data) : undefined
  const hasProblems = Object.keys(problems).length > 0
  const change = (part: Partial<PolicyDraft>) => setDraft({ ...draft, ...part })
  const form = useRef<HTMLDivElement>(null)
  return (
    // The focus is here once what had it is gone, with the changes.
    <div ref={form} className="policy" tabIndex={-1}>
      <section className="page-form">
        <h2>Immutable tags</h2>
        <p className="muted">These tags can be created, but no user can move or delete them.</p>
        <Field
          label="Patterns"
          value={draft.immutable}
          onChange={(immutable) => change({ immutable })}
          hint={PATTERN_HINT}
        />
        <Field
          label="Except"
          value={draft.exceptions}
          onChange={(exceptions) => change({ exceptions })}
          hint="Tags that match the patterns above and can still be moved and deleted"
        />
      </section>
      <section className="page-form">
        <h2>Retention</h2>
        <SwitchField isSelected={draft.enabled} onChange={(enabled) => change({ enabled })}>
          Delete the tags that no rule keeps, every six hours
        </SwitchField>
        <Rules
          rules={draft.rules}
          problems={problems}
          kept={counts?.keptByRule}
          onChange={(next) => change({ rules: next })}
        />
        <Field
          label="Delete untagged manifests after"
          value={draft.untaggedAfter}
          onChange={(untaggedAfter) => change({ untaggedAfter })}
          hint={`${DURATION_HINT}, at least 1h. Empty: untagged manifests are kept.`}
          problem={problems['untaggedAfter']}
        />
      </section>
      <PolicyPreview repo={repo} rules={settled} />
      {isChanged && (
        <UnsavedChanges
          what="The policy"
          action="Save the policy"
          problem={hasProblems ? 'Correct the marked fields' : undefined}
          onSave={() => setSaving(true)}
          onDiscard={() => {
            setDraft(base.draft)
            form.current?.focus({ preventScroll: true })
          }}
        >
          {changesText(rules, counts, isCurrent && preview.isError)}
        </UnsavedChanges>
      )}
      {isSaving && (
        <SavePolicyDialog
          repo={repo}
          rules={rules}
          etag={base.etag}
          wasEnabled={base.draft.enabled}
          counts={counts}
          preview={{ error: isCurrent ? preview.error : null, refetch: preview.refetch }}
          onClose={() => setSaving(false)}
          onVersion={(version) => {
            const current = baseOf(version, policy.etag)
            setBase(current)
            // Once the dialog is closed, the user can type while the request is sent.
            setDraft((now) => (isSameDraft(now, draft) ? current.draft : now))
          }}
        />
      )}
    </div>
  )
}

/** What the changed policy would do, beside the button that saves it. */
function changesText(
  { retention }: PolicyRules,
  counts: PreviewCounts | undefined,
  isPreviewFailed: boolean,
): string {
  if (retention.enabled !== true) return 'Nothing is deleted while retention is not enabled'
  if (isPreviewFailed) return 'The preview of what would be deleted failed'
  if (counts === undefined) return 'Calculating what would be deleted…'
  return `${plural(counts.deletedTags, 'tag')} and ${plural(counts.deletedManifests, 'manifest')} would be deleted`
}

interface RulesProps {
  readonly rules: readonly RuleDraft[]
  readonly problems: DraftProblems
  /** The number of tags that each rule keeps, once it is known. */
  readonly kept: readonly number[] | undefined
  readonly onChange: (rules: readonly RuleDraft[]) => void
}

function Rules({ rules, problems, kept, onChange }: RulesProps) {
  const change = (key: number, part: Partial<RuleDraft>) =>
    onChange(rules.map((rule) => (rule.key === key ? { ...rule, ...part } : rule)))
  const add = useRef<HTMLButtonElement>(null)
  const remove = (removed: number) => {
    onChange(rules.filter(({ key }) => key !== removed))
    add.current?.focus()
  }
  return (
    <>
      {rules.length === 0 && <p className="muted">There are no rules: all tags are kept.</p>}
      <ol className="rules">
        {rules.map((rule, at) => (
          <li key={rule.key}>
            <fieldset>
              <legend>
                Rule {at + 1}
                {kept?.[at] !== undefined && <span className="hint"> keeps {plural(kept[at], 'tag')}</span>}
              </legend>
              <Field
                label="Tags"
                value={rule.patterns}
                onChange={(patterns) => change(rule.key, { patterns })}
                hint="Patterns, or empty for all"
                problem={problems[`rules.${at}.patterns`]}
              />
              <Field
                label="Newest"
                value={rule.newest}
                inputMode="numeric"
                onChange={(newest) => change(rule.key, { newest })}
                hint="Number, or empty"
                problem={problems[`rules.${at}.newest`]}
              />
              <Field
                label="Younger than"
                value={rule.youngerThan}
                onChange={(youngerThan) => change(rule.key, { youngerThan })}
                hint={DURATION_HINT}
                problem={problems[`rules.${at}.youngerThan`]}
              />
              <Button
                className="icon-button"
                aria-label={`Remove rule ${at + 1}`}
                onPress={() => remove(rule.key)}
              >
                <X aria-hidden size={16} />
              </Button>
            </fieldset>
          </li>
        ))}
      </ol>
      <Button ref={add} className="button quiet" onPress={() => onChange([...rules, newRule()])}>
        Add a rule
      </Button>
      <p className="hint">A tag is kept if one rule matches it with all its conditions.</p>
    </>
  )
}

interface SavePolicyDialogProps {
  readonly repo: string
  readonly rules: PolicyRules
  readonly etag: string | undefined
  readonly wasEnabled: boolean
  readonly counts: PreviewCounts | undefined
  /** Why there are no counts. */
  readonly preview: NotLoadedProps['query']
  readonly onClose: () => void
  readonly onVersion: (policy: Versioned<RepoPolicy>) => void
}

function SavePolicyDialog(props: SavePolicyDialogProps) {
  const { repo, rules, etag, wasEnabled, counts, preview, onClose, onVersion } = props
  const queries = useQueryClient()
  const access = useAccess()
  const isEnabled = rules.retention.enabled === true
  const [isConfirmed, setConfirmed] = useState(false)
  const isUnseenConfirmed = isConfirmed && preview.error !== null
  const missing = isEnabled
    ? (access.missing(repo, 'tag.delete') ?? access.missing(repo, 'manifest.delete'))
    : undefined
  return (
    <ActionDialog
      title={isEnabled && !wasEnabled ? 'Enable retention' : 'Save the policy'}
      action={isEnabled && !wasEnabled ? 'Enable retention' : 'Save'}
      isDangerous={isEnabled}
      // Nothing is deleted before the user sees how much, or confirms that they cannot see it.
      isDisabled={missing !== undefined || (isEnabled && counts === undefined && !isUnseenConfirmed)}
      onClose={onClose}
      submit={async () => {
        const { immutableTags, retention } = rules
        const options = { ifMatch: etag, updateMask: ['immutableTags', 'retention'] }
        const saved = await api.repoPolicies
          .updateRepoPolicy(repo, { immutableTags, retention }, options)
          .withResponse()
        queries.setQueryData(policyQuery(repo).queryKey, { value: saved.value, etag: saved.etag })
        onVersion(saved)
        await queries.invalidateQueries({ queryKey: ['tags', repo] })
      }}
      reload={() => queries.fetchQuery({ ...policyQuery(repo), staleTime: 0 })}
      onReloaded={() => {
        const current = queries.getQueryData(policyQuery(repo).queryKey)
        if (current !== undefined) onVersion(current)
        onClose()
      }}
    >
      {() => (
        <div className="dialog-text">
          {isEnabled ? (
            <>
              {counts === undefined ? (
                <>
                  <NotLoaded what="the preview" query={preview} />
                  {preview.error !== null && (
                    <CheckboxField isSelected={isConfirmed} onChange={setConfirmed}>
                      Save without the preview. The next run starts within a minute, and deletes what the
                      policy does not keep.
                    </CheckboxField>
                  )}
                </>
              ) : (
                <p>
                  The next run starts within a minute. Now it would delete {plural(counts.deletedTags, 'tag')}{' '}
                  and {plural(counts.deletedManifests, 'manifest')}, and keep {plural(counts.keptTags, 'tag')}
                  .
                </p>
              )}
              <p>Deleted tags cannot be restored, except by pushing them again.</p>
            </>
          ) : (
            <p>Retention is not enabled: nothing is deleted.</p>
          )}
          <p>Immutable tags apply immediately.</p>
          {missing !== undefined && <p className="error">{missing}</p>}
        </div>
      )}
    </ActionDialog>
  )
}
