import { anyDatabase, databases } from './support/database/databases.ts'
import { providerFlows } from './support/signin/provider-flows.ts'
import { nodeProvider } from './support/signin/real-providers.ts'

/** Sign-in with a real OpenID provider; those with other habits are in test/long/sign-in-providers.test.ts. */

for (const database of databases) providerFlows(nodeProvider(), database)
// What a provider states about itself does not depend on the database.
for (const database of anyDatabase) providerFlows(nodeProvider(false), database)
