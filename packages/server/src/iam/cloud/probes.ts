import { amazonProbe } from './amazon.ts'
import { azureProbe } from './azure.ts'
import { googleProbe } from './google.ts'
import type { CloudProbes } from './probe.ts'
import type { ProbeDeps } from './provider-request.ts'

/** Addresses of the providers, and the names under which accounts know Berth. */
export interface CloudSettings {
  /** Addresses of the token services, without a slash at the end. */
  readonly awsStsEndpoint: string
  readonly googleStsEndpoint: string
  readonly azureLoginEndpoint: string
  /** Role to assume in Amazon accounts, with its path. */
  readonly awsRole: string
  /** The workload identity pool and provider in Google projects. */
  readonly googlePool: string
  readonly googleProvider: string
}

export function cloudProbes(deps: Omit<ProbeDeps, 'endpoint'>, settings: CloudSettings): CloudProbes {
  return {
    amazon: amazonProbe({ ...deps, endpoint: settings.awsStsEndpoint, role: settings.awsRole }),
    google: googleProbe({
      ...deps,
      endpoint: settings.googleStsEndpoint,
      pool: settings.googlePool,
      provider: settings.googleProvider,
    }),
    azure: azureProbe({ ...deps, endpoint: settings.azureLoginEndpoint }),
  }
}
