import { grpcCases } from './endpoints/grpc.ts'
import { healthCases, reflectionCases } from './endpoints/health.ts'
import { http1Cases } from './endpoints/http1.ts'
import { http2Cases } from './endpoints/http2.ts'
import { documentCases, feedCases, signInCases } from './endpoints/pages.ts'
import { registryCases, registryTokenCases } from './endpoints/registry.ts'
import { restCases } from './endpoints/rest.ts'
import { oauthCases, tokenServiceCases } from './endpoints/token-service.ts'
import type { Endpoint } from './run.ts'

/** Every entrance of the server, and what is sent through it. */
export const catalog: readonly Endpoint[] = [
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
