import { databases } from '../support/database/databases.ts'
import { providerFlows } from '../support/signin/provider-flows.ts'
import { dex, keycloak, nodeProvider } from '../support/signin/real-providers.ts'

/**
 * The flows of sign-in against three OpenID providers with different habits. Dex is built and Keycloak downloaded into the folder
 * BERTH_TEST_PROVIDERS, by default ~/.cache/berth-test-providers; one that cannot be had is skipped with the reason.
 */

const [database] = databases
if (database === undefined) throw new Error('no database')
for (const kind of [nodeProvider(), dex, keycloak]) providerFlows(kind, database)
