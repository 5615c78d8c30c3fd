import { databases } from './support/databases.ts'
import { providerFlows } from './support/provider-flows.ts'
import { nodeProvider } from './support/real-providers.ts'

/** Sign-in with a real OpenID provider; those with other habits are in test/long/sign-in-providers.test.ts. */

for (const database of databases)
  for (const kind of [nodeProvider(), nodeProvider(false)]) providerFlows(kind, database)
