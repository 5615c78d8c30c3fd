import { onEveryDatabase } from './support/api/api-fixture.ts'
import { testTenantCrossing } from './support/api/tenant-crossing.ts'

// Every uid on the first database; test/long/tenant-crossing.test.ts does it on all of them.

onEveryDatabase('another tenant', (cast, { isFirst }) => testTenantCrossing(cast, { sampled: !isFirst }))
