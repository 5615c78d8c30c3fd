import { onEveryDatabase } from '../support/api/api-fixture.ts'
import { testTenantCrossing } from '../support/api/tenant-crossing.ts'

onEveryDatabase('another tenant, with every uid', (cast) => testTenantCrossing(cast, { sampled: false }))
