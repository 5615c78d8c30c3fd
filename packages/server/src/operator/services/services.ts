import type { ServiceImplementation } from '../../pipeline/call.ts'
import { operatorAccountsService } from './accounts.ts'
import type { OperatorContext } from './context.ts'
import { operatorJobsService } from './jobs.ts'
import { operatorNodesService } from './nodes.ts'
import { operatorOrganizationsService } from './organizations.ts'
import { operatorSessionsService } from './sessions.ts'
import { operatorSigningKeysService } from './signing-keys.ts'
import { operatorStorageService } from './storage.ts'

/** The services of the operator API (ADR 45). */
export function operatorServices(context: OperatorContext): readonly ServiceImplementation[] {
  return [
    operatorAccountsService(context),
    operatorOrganizationsService(context),
    operatorSessionsService(context),
    operatorSigningKeysService(context),
    operatorStorageService(context),
    operatorJobsService(context),
    operatorNodesService(context),
  ]
}
