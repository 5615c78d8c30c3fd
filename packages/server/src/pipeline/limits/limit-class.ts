import { mcp } from '@berth/contract/gen/annotations/mcp_pb.js'
import { SecurityTokenService } from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { PingService as V1PingService } from '@berth/contract/gen/chainguard/platform/ping/ping_pb.js'
import { PingService } from '@berth/contract/gen/chainguard/platform/ping/v2beta1/ping_pb.js'
import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { getOption } from '@berth/contract/options.ts'
import type { DescMethod } from '@bufbuild/protobuf'
import type { LimitClass } from './limit-table.ts'

/** Returns what calls of a method count as; undefined for methods without a limit: monitors call them. */
export function limitClassOf(method: DescMethod): LimitClass | undefined {
  const { typeName } = method.parent
  if (typeName === SecurityTokenService.typeName) return 'exchange'
  if (typeName === PingService.typeName || typeName === V1PingService.typeName) return undefined
  return getOption(method, mcp).readOnly || getOption(method, http).pattern.case === 'get' ? 'read' : 'write'
}
