import type { DescService } from '@bufbuild/protobuf'
import { failedPrecondition } from '../../api/errors.ts'
import type { Addresses } from '../../config/addresses.ts'
import type { Config } from '../../installation/config.ts'
import type { Call, Handler, Handlers, ServiceImplementation } from '../../pipeline/call.ts'
import type { StorageRunner } from '../../registry/runs/storage-runner.ts'
import type { Log } from '../../runtime/log.ts'
import type { DiskSpace } from '../../storage/disk-space.ts'
import type { JobKind } from '../../storage/jobs/job-leases.ts'
import type { Store } from '../../storage/store.ts'
import type { SigningKeys } from '../../tokens/keys/signing-keys.ts'
import { requireRecentSignIn } from '../recent-sign-in.ts'

/** What the services of the operator API share. */
export interface OperatorContext {
  readonly store: Store
  readonly config: Config
  readonly addresses: Addresses
  readonly keys: SigningKeys
  readonly disk: DiskSpace
  readonly storageRunner: StorageRunner
  readonly jobKinds: readonly JobKind[]
  readonly log: Log
}

/** Joins a service with its handlers. All of them fail with code 9 if the operator API is disabled. */
export function operatorService<S extends DescService>(
  { config }: Pick<OperatorContext, 'config'>,
  service: S,
  handlers: Handlers<S>,
): ServiceImplementation {
  if (config.operatorApi)
    return { service, handlers: handlers as Readonly<Record<string, Handler | undefined>> }
  const disabled: Handler = async () => {
    throw failedPrecondition(
      'OPERATOR_API_DISABLED',
      'the operator API is disabled (BERTH_OPERATOR_API). Use berth admin on the server',
    )
  }
  return {
    service,
    handlers: Object.fromEntries(service.methods.map(({ localName }) => [localName, disabled])),
  }
}

/** Wraps the handler of a change that needs a recent sign-in. */
export function recently<I, O>(
  { store }: Pick<OperatorContext, 'store'>,
  handler: (request: I, call: Call) => Promise<O>,
): (request: I, call: Call) => Promise<O> {
  return async (request, call) => {
    await requireRecentSignIn(store, call)
    return handler(request, call)
  }
}
