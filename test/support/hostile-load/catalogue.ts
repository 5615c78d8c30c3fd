import { grpcCases } from './entrances/grpc.ts'
import { healthCases, reflectionCases } from './entrances/health.ts'
import { http1Cases } from './entrances/http1.ts'
import { http2Cases } from './entrances/http2.ts'
import { documentCases, feedCases, signInCases } from './entrances/pages.ts'
import { registryCases, registryTokenCases } from './entrances/registry.ts'
import { restCases } from './entrances/rest.ts'
import { oauthCases, tokenServiceCases } from './entrances/token-service.ts'
import type { Endpoint } from './run.ts'

/** Every entrance of the server, and what is sent through it. */
export const catalogue: readonly Endpoint[] = [
  { name: 'gRPC', cases: grpcCases },
  { name: 'health', cases: healthCases },
  { name: 'reflection', cases: reflectionCases },
  { name: 'REST', cases: restCases },
  { name: 'registry', cases: registryCases },
  { name: 'registry token', cases: registryTokenCases },
  { name: 'token service', cases: tokenServiceCases },
  { name: 'OAuth', cases: oauthCases },
  { name: 'documents', cases: documentCases },
  { name: 'feeds', cases: feedCases },
  { name: 'sign-in', cases: signInCases },
  { name: 'HTTP/2', cases: http2Cases },
  { name: 'HTTP/1', cases: http1Cases },
]
