import { dockerLogin, pullSecret, secretName } from '@berth/workloads/pull-secret.ts'
import type { PullToken } from '@berth/workloads/pull-tokens.ts'
import { Button } from 'react-aria-components'
import { stringify } from 'yaml'
import { session } from '../../api/session.ts'
import { Command, Id } from '../../components/copy.tsx'
import { FileText } from '../../components/file-text.tsx'
import { Secret } from '../../components/secret.tsx'
import { Time } from '../../components/time.tsx'
import '../../styles/pages/identities.css'

/** A pull token that was just created, with its password. */
export function NewPullToken({
  created,
  onClose,
}: {
  readonly created: PullToken
  readonly onClose: () => void
}) {
  const registry = session.registryHost
  return (
    <section className="pull-token" aria-label={`The new pull token ${created.name}`}>
      <h2>Pull token {created.name}</h2>
      <Secret text={created.token} label="the password">
        <p>
          The pull token is created. This is its password, which expires <Time value={created.expires} />.
        </p>
      </Secret>
      <p>
        User name: <Id value={created.identity} label="the user name" />
      </p>
      <h3>Docker</h3>
      <p>On the machine, sign in with this command, paste the password, and press Enter and Ctrl-D:</p>
      <Command text={dockerLogin(registry, created.identity)} label="the command for Docker" />
      <h3>Kubernetes</h3>
      <p>
        Apply this secret, and name it under imagePullSecrets of the pods. The file contains the password: do
        not commit it.
      </p>
      <FileText
        name={`${secretName(created.name)}.yaml`}
        text={stringify(pullSecret(registry, created), { lineWidth: 0 })}
        label="the secret"
      />
      <Button className="button quiet" onPress={onClose}>
        I have stored the password
      </Button>
    </section>
  )
}
