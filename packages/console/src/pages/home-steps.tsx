import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Circle, CircleCheck } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button } from 'react-aria-components'
import { activityQuery } from '../api/queries/home.ts'
import { session } from '../api/session.ts'
import { Command, quoted } from '../components/copy.tsx'

/** The first steps of an organization. Each is done as soon as the server knows a result of it. */

interface StepsProps {
  readonly uid: string
  readonly name: string
}

interface Step {
  readonly title: string
  readonly isDone: boolean
  readonly content: ReactNode
}

export function FirstSteps({ uid, name }: StepsProps) {
  const { data } = useQuery(activityQuery)
  const [stored, setStored] = useStored()
  if (data === undefined) return null
  const image = `${session.registryHost}/${name}/app:1.0`
  const hasPushed = data.pushes.length > 0
  const steps: readonly Step[] = [
    {
      title: 'Install the command line',
      // Who has pushed or connected a workload has what they need.
      isDone: stored.isInstalled || hasPushed || data.hasWorkload,
      content: (
        <>
          <Command text={`berth config set api ${session.apiUrl}`} label="the command for the server" />
          <Command text="berth auth login" label="the command to sign in" />
          <p className="muted">
            <a href="/start">How to install it</a>
          </p>
          <Button className="link" onPress={() => setStored({ ...stored, isInstalled: true })}>
            Mark as done
          </Button>
        </>
      ),
    },
    {
      title: 'Push an image',
      isDone: hasPushed,
      content: (
        <>
          <Command text="berth auth configure-docker" label="the command for docker" />
          <Command text={`docker push ${quoted(image)}`} label="the push command" />
        </>
      ),
    },
    {
      title: 'Invite a colleague',
      isDone: data.hasInvited,
      content: (
        <Link to="/folders/$" params={{ _splat: uid }} search={{ tab: 'invites' }}>
          Open the invites of {name}
        </Link>
      ),
    },
    {
      title: 'Connect CI',
      isDone: data.hasWorkload,
      content: (
        <Link to="/create-identity/$" params={{ _splat: uid }} search={{}}>
          Create an identity for a workload of {name}
        </Link>
      ),
    },
  ]
  const done = steps.filter(({ isDone }) => isDone).length
  if (stored.isHidden || done === steps.length)
    return stored.isHidden && done < steps.length ? (
      <p>
        <Button className="link" onPress={() => setStored({ ...stored, isHidden: false })}>
          Show the first steps
        </Button>
      </p>
    ) : null
  return (
    <section>
      <div className="steps-head">
        <h2>First steps in {name}</h2>
        <span className="muted">
          {done} of {steps.length} done
        </span>
        <Button className="link" onPress={() => setStored({ ...stored, isHidden: true })}>
          Hide
        </Button>
      </div>
      <ul className="steps">
        {steps.map((step) => (
          <StepItem key={step.title} step={step} />
        ))}
      </ul>
    </section>
  )
}

function StepItem({ step: { title, isDone, content } }: { readonly step: Step }) {
  return (
    <li className={isDone ? 'done' : ''}>
      {isDone ? <CircleCheck aria-hidden size={20} /> : <Circle aria-hidden size={20} />}
      <div>
        <h3>
          {title}
          <span className="unseen">{isDone ? ' (done)' : ' (to do)'}</span>
        </h3>
        {!isDone && content}
      </div>
    </li>
  )
}

/** What the server does not know of the user, kept in this browser. */
interface StoredSteps {
  readonly isHidden: boolean
  readonly isInstalled: boolean
}

const KEY = `berth.first-steps.${session.identity}`
const NOTHING: StoredSteps = { isHidden: false, isInstalled: false }

function useStored(): readonly [StoredSteps, (next: StoredSteps) => void] {
  const [stored, setStored] = useState(readStored)
  const store = (next: StoredSteps) => {
    setStored(next)
    try {
      localStorage.setItem(KEY, JSON.stringify(next))
    } catch {
      // The storage is full or disabled: the choice lasts as long as the page.
    }
  }
  return [stored, store]
}

function readStored(): StoredSteps {
  try {
    return { ...NOTHING, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<StoredSteps>) }
  } catch {
    return NOTHING
  }
}
