import { databases } from './support/database/databases.ts'
import { providerFlows } from './support/signin/provider-flows.ts'
import { nodeProvider } from './support/signin/real-providers.ts'

/** Sign-in with a real OpenID provider; those with other habits are in test/long/sign-in-providers.test.ts. */

for (const database of databases)
  for (const kind of [nodeProvider(), nodeProvider(false)]) providerFlows(kind, database)
