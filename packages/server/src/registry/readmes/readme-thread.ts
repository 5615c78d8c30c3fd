import { serveThreadRequests } from '../../runtime/workers/serve-thread-requests.ts'
import { checkReadme } from './readme-check.ts'

/** A worker thread that checks READMEs. */

serveThreadRequests(checkReadme)
