import { Component, type ComponentType, type ReactNode, useEffect, useState } from 'react'
import { Button } from 'react-aria-components'

/** Parts of pages that are loaded when they are shown. */

export type LazyPart<P> = ComponentType<P> & {
  /** Loads the code, so that the first rendering has it. */
  readonly preload: () => Promise<void>
}

const loading = (
  <p className="muted" role="status">
    Loading…
  </p>
)

/**
 * Returns a component that loads itself, and says so if it cannot be loaded: offline, or after an update of the server.
 *
 * Not `lazy` of React, which shows a loaded part 300 ms after its fallback at the earliest.
 */
export function lazyPart<P extends object>(
  load: () => Promise<ComponentType<P>>,
  fallback: ReactNode = loading,
): LazyPart<P> {
  let part: ComponentType<P> | undefined
  const preload = async () => {
    part ??= await load()
  }
  function Part(props: P) {
    const [{ Loaded, failure }, setState] = useState<PartState<P>>(() => ({ Loaded: part }))
    const isMissing = Loaded === undefined
    useEffect(() => {
      if (!isMissing) return
      let isShown = true
      preload().then(
        () => isShown && setState({ Loaded: part }),
        (error: unknown) => isShown && setState({ Loaded: undefined, failure: error }),
      )
      return () => {
        isShown = false
      }
    }, [isMissing])
    if (failure !== undefined) return <PartFailure failure={failure} />
    if (Loaded === undefined) return fallback
    return (
      <Boundary>
        <Loaded {...props} />
      </Boundary>
    )
  }
  return Object.assign(Part, { preload })
}

interface PartState<P> {
  readonly Loaded: ComponentType<P> | undefined
  readonly failure?: unknown
}

/** In the place of what failed to load or to show itself. */
export function PartFailure({ failure }: { readonly failure: unknown }) {
  return (
    <section className="problem" role="alert">
      <h2>This part of the page is not available</h2>
      <p>
        It could not be loaded, or it failed. Check your connection and load the page again; what you have
        typed elsewhere on it is lost.
      </p>
      <p className="muted">{failure instanceof Error ? failure.message : String(failure)}</p>
      <Button className="button quiet" onPress={() => location.reload()}>
        Load the page again
      </Button>
    </section>
  )
}

interface BoundaryState {
  readonly failure?: unknown
  readonly hasFailed: boolean
}

class Boundary extends Component<{ readonly children: ReactNode }, BoundaryState> {
  override state: BoundaryState = { hasFailed: false }

  static getDerivedStateFromError(failure: unknown): BoundaryState {
    return { hasFailed: true, failure }
  }

  override render() {
    return this.state.hasFailed ? <PartFailure failure={this.state.failure} /> : this.props.children
  }
}
