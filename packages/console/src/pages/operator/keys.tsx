import type { SigningKey } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { signingKeysQuery } from '../../api/queries/operator.ts'
import { Actions } from '../../components/actions.tsx'
import { Badge } from '../../components/badge.tsx'
import { Equivalent } from '../../components/copy.tsx'
import { Field } from '../../components/field.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Time } from '../../components/time.tsx'
import { ChangeDialog } from './change-dialog.tsx'

/** The keys that sign tokens. */

const states: Readonly<Record<SigningKey['state'], readonly [text: string, tone: 'good' | 'plain']>> = {
  SIGNING_KEY_STATE_UNSPECIFIED: ['unknown', 'plain'],
  SIGNING_KEY_STATE_NEXT: ['next', 'plain'],
  SIGNING_KEY_STATE_SIGNING: ['signing', 'good'],
  SIGNING_KEY_STATE_PUBLISHED: ['published', 'plain'],
}

export function Keys() {
  const missing = useAccess().missing('', 'operator.update')
  const [dialog, setDialog] = useState<'rotate' | 'withdraw' | undefined>()
  return (
    <>
      <Actions
        of="tab"
        actions={[
          { label: 'Rotate', missing, onPress: () => setDialog('rotate') },
          { label: 'Withdraw all', isQuiet: true, missing, onPress: () => setDialog('withdraw') },
        ]}
      />
      <PageList
        label="Signing keys"
        query={signingKeysQuery}
        keyOf={({ kid }) => kid}
        columns={[
          { id: 'kid', title: 'Key', cell: ({ kid }) => <code>{kid}</code> },
          { id: 'algorithm', title: 'Algorithm', cell: ({ algorithm }) => algorithm },
          {
            id: 'state',
            title: 'State',
            cell: ({ state }) => <Badge tone={states[state][1]}>{states[state][0]}</Badge>,
          },
          { id: 'signs', title: 'Signs from', cell: ({ signTime }) => <Time value={signTime} /> },
          { id: 'until', title: 'Published until', cell: ({ expireTime }) => <Time value={expireTime} /> },
        ]}
        empty={<p>There is no key. The server creates one when it issues a token.</p>}
      />
      <Equivalent command="berth admin keys list" />
      {dialog !== undefined && (
        <RotateDialog isWithdrawal={dialog === 'withdraw'} onClose={() => setDialog(undefined)} />
      )}
    </>
  )
}

const CONFIRMATION = 'withdraw'

function RotateDialog({
  isWithdrawal,
  onClose,
}: {
  readonly isWithdrawal: boolean
  readonly onClose: () => void
}) {
  const queries = useQueryClient()
  const [typed, setTyped] = useState('')
  const title = isWithdrawal ? 'Withdraw all keys' : 'Rotate the signing key'
  return (
    <ChangeDialog
      title={title}
      action={title}
      isDangerous={isWithdrawal}
      isDisabled={isWithdrawal && typed !== CONFIRMATION}
      entered={null}
      onClose={onClose}
      submit={async () => {
        await api.operatorSigningKeys.rotateSigningKeys({ withdraw: isWithdrawal })
        await queries.invalidateQueries({ queryKey: ['operator', 'keys'] })
      }}
    >
      <p>
        {isWithdrawal
          ? 'A new key signs immediately, and all others are withdrawn: all access tokens become invalid. Do this if a key may be compromised. Sessions of browsers continue.'
          : 'A new key is published, and signs after one hour. Existing tokens stay valid.'}
      </p>
      {isWithdrawal && (
        <Field label={`Type ${CONFIRMATION} to confirm`} value={typed} onChange={setTyped} isFirst />
      )}
      <Equivalent command={`berth admin keys rotate${isWithdrawal ? ' --now' : ''}`} />
    </ChangeDialog>
  )
}
