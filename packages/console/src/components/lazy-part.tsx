import { Component, type ComponentType, lazy, type ReactNode, Suspense } from 'react'
import { Button } from 'react-aria-components'

/** Parts of pages that are loaded when they are shown. */

/** Returns a component that loads itself, and says so if it cannot be loaded: offline, or after an update of the server. */
export function lazyPart<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  const Part = lazy(async () => ({ default: await load() }))
  return (props) => (
    <LoadBoundary>
      <Suspense
        fallback={
          <p className="muted" role="status">
            Loading…
          </p>
        }
      >
        <Part {...props} />
      </Suspense>
    </LoadBoundary>
  )
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

interface LoadBoundaryState {
  readonly failure?: unknown
  readonly hasFailed: boolean
}

class LoadBoundary extends Component<{ readonly children: ReactNode }, LoadBoundaryState> {
  override state: LoadBoundaryState = { hasFailed: false }

  static getDerivedStateFromError(failure: unknown): LoadBoundaryState {
    return { hasFailed: true, failure }
  }

  override render() {
    return this.state.hasFailed ? <PartFailure failure={this.state.failure} /> : this.props.children
  }
}
