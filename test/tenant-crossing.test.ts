import { onEveryDatabase } from './support/api/api-fixture.ts'
import { testTenantCrossing } from './support/api/tenant-crossing.ts'
import { databases } from './support/database/databases.ts'

// Every uid on the first database; test/long/tenant-crossing.test.ts does it on all of them.

for (const [at, { name }] of databases.entries())
  onEveryDatabase('another tenant', (cast) => testTenantCrossing(cast, { sampled: at > 0 }), { only: name })
