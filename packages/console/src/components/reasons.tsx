import {
  createContext,
  type ReactNode,
  useContext,
  useId,
  useLayoutEffect,
  useMemo,
  useSyncExternalStore,
} from 'react'

/** Why actions are disabled, and cells are empty: each reason is written once for all of a group, and describes each of them. */

export interface PossibleAction {
  readonly label: string
  /** Why the user cannot do it; undefined if they can. */
  readonly missing: string | undefined
}

/** The reasons of actions, each once with the names of its actions. */
export function reasonsOf(
  actions: readonly PossibleAction[],
): readonly { readonly reason: string; readonly labels: readonly string[] }[] {
  const reasons = [...new Set(actions.flatMap(({ missing }) => missing ?? []))]
  return reasons.map((reason) => ({
    reason,
    labels: [...new Set(actions.filter(({ missing }) => missing === reason).map(({ label }) => label))],
  }))
}

export const reasonText = (labels: readonly string[], reason: string): string =>
  `${labels.join(', ')}: ${reason}`

/** The disabled actions of a group, each once. Only their reasons are rendered again when they change, not the table that they are in. */
class DisabledActions {
  readonly #uses = new Map<string, number>()
  readonly #listeners = new Set<() => void>()
  #actions: readonly PossibleAction[] = []

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly read = (): readonly PossibleAction[] => this.#actions

  add(action: PossibleAction): () => void {
    this.#use(action, 1)
    return () => this.#use(action, -1)
  }

  #use(action: PossibleAction, by: number): void {
    const key = JSON.stringify([action.label, action.missing])
    const before = this.#uses.get(key) ?? 0
    this.#uses.set(key, before + by)
    if (before > 0 && before + by > 0) return
    const others = this.#actions.filter(
      ({ label, missing }) => label !== action.label || missing !== action.missing,
    )
    this.#actions = by > 0 ? [...others, action] : others
    for (const listener of this.#listeners) listener()
  }
}

interface Group {
  readonly id: string
  readonly actions: DisabledActions
}

const ReasonGroup = createContext<Group | undefined>(undefined)

/** Writes the reasons of what the user cannot do or see in it, above it. */
export function Reasons({ children }: { readonly children: ReactNode }) {
  const id = useId()
  const group = useMemo((): Group => ({ id, actions: new DisabledActions() }), [id])
  return (
    <ReasonGroup.Provider value={group}>
      <ReasonList group={group} />
      {children}
    </ReasonGroup.Provider>
  )
}

function ReasonList({ group: { id, actions } }: { readonly group: Group }) {
  const reasons = reasonsOf(useSyncExternalStore(actions.subscribe, actions.read))
  return reasons.map(({ reason, labels }) => (
    <p key={reason} id={idOf(id, reason)} className="hint">
      {reasonText(labels, reason)}
    </p>
  ))
}

/** Different for different reasons, in any script, and without spaces, which separate ids. */
const idOf = (group: string, reason: string): string => group + encodeURIComponent(reason)

/** Adds an action to the group around it if it is disabled, and returns the id of its reason. */
export function useReason(label: string, missing: string | undefined): string | undefined {
  const group = useContext(ReasonGroup)
  if (group === undefined) throw new Error(`the action ${label} is in no group`)
  const { id, actions } = group
  useLayoutEffect(
    () => (missing === undefined ? undefined : actions.add({ label, missing })),
    [actions, label, missing],
  )
  return missing === undefined ? undefined : idOf(id, missing)
}

/** In a cell whose content the user cannot see. `what`: the title of its column. */
export function NotPermitted({ what, missing }: { readonly what: string; readonly missing: string }) {
  return (
    <span className="muted" aria-describedby={useReason(what, missing)}>
      no permission
    </span>
  )
}
