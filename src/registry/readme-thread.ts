import { serveThreadRequests } from '../worker/answer-thread-requests.ts'
import { checkReadme } from './readme-check.ts'

/** A worker thread that checks READMEs. */

serveThreadRequests(checkReadme)
