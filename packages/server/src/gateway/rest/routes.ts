import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { FieldBehavior, field_behavior } from '@berth/contract/gen/google/api/field_behavior_pb.js'
import type { HttpRule } from '@berth/contract/gen/google/api/http_pb.js'
import { getOption, hasOption } from '@berth/contract/options.ts'
import type { DescMethod, DescService } from '@bufbuild/protobuf'
import { matchPath, type PathTemplate, parsePathTemplate, templatesOverlap } from './path-template.ts'

/** One HTTP binding of one method. */
export interface Route {
  readonly method: DescMethod
  /** Upper case. */
  readonly httpMethod: string
  readonly template: PathTemplate
  /** Proto name of the request field that is the body, `*` for the whole request, empty for no body. */
  readonly body: string
}

export type RouteMatch =
  | { readonly kind: 'route'; readonly route: Route; readonly values: readonly string[] }
  /** The path is known, under these methods, of which `route` is one. */
  | { readonly kind: 'wrong-method'; readonly allow: readonly string[]; readonly route: Route }
  | { readonly kind: 'unknown-path' }
  /** A percent escape that stands for no text. */
  | { readonly kind: 'malformed-path' }

/** `path` is as sent, without the query. */
export type RouteLookup = (httpMethod: string, path: string) => RouteMatch

/** All HTTP bindings of the services, `additional_bindings` included. Methods without any are left out. */
export function routesOf(services: readonly DescService[]): Route[] {
  return services.flatMap((service) =>
    service.methods.flatMap((method) => {
      if (!hasOption(method, http)) return []
      const rule = getOption(method, http)
      return [rule, ...rule.additionalBindings].map((binding) => routeOf(method, binding))
    }),
  )
}

function routeOf(method: DescMethod, { pattern, body }: HttpRule): Route {
  switch (pattern.case) {
    case 'custom':
      return { method, httpMethod: pattern.value.kind, template: parsePathTemplate(pattern.value.path), body }
    case undefined:
      throw new Error(`${method.parent.typeName}.${method.name} has an HTTP rule without a path`)
    default:
      return {
        method,
        httpMethod: pattern.case.toUpperCase(),
        template: parsePathTemplate(pattern.value),
        body,
      }
  }
}

/**
 * Returns whether a request whose last segments are missing can succeed: `/groups` without its parent creates an organization, but
 * there is no resource to change or to delete.
 */
export function mayLackVariable({ method, template, httpMethod }: Route): boolean {
  const [variable, ...more] = template.variables
  const { segments, wildcardIndex, verb } = template
  // Version 1 identifies what it replaces by a field that the server sets on create.
  if (httpMethod === 'PUT' || variable === undefined || more.length > 0) return false
  if (wildcardIndex !== segments.length - 1 || verb !== '') return false
  const field = method.input.fields.find(({ name }) => name === variable.fieldPath[0])
  return (
    field !== undefined &&
    field.message === undefined &&
    !getOption(field, field_behavior).includes(FieldBehavior.REQUIRED)
  )
}

/** All routes of one template. */
interface Candidate {
  readonly template: PathTemplate
  /** Segments, extents of the variables, and verb: what decides the values that a match gives. */
  readonly shape: string
  /** Sort key: compared number by number, smaller first. */
  readonly rank: readonly number[]
  readonly routes: Map<string, Route>
}

/** One literal prefix. Children are literal segments; candidates are the templates that continue with a wildcard or end here. */
interface Node {
  readonly children: Map<string, Node>
  exact: Candidate | undefined
  readonly wildcards: Candidate[]
}

/**
 * Builds the lookup. Among the templates that match a path the choice is: all literal, then the longest literal prefix, then
 * one with a verb, then the one with more literals behind the wildcard, then the bare wildcard; a template that lacks the
 * HTTP method gives way to the next (a POST to a bare collection is a create with an empty parent). HEAD is looked up as
 * GET. `aliases` maps a version segment to another spelling of it (`v2beta1` to `v2`): every path answers under both.
 * Throws an Error when two routes would answer the same request.
 */
export function createRouteLookup(
  routes: readonly Route[],
  aliases: Readonly<Record<string, string>> = {},
): RouteLookup {
  const root: Node = newNode()
  for (const route of routes) insert(root, route)
  for (const node of root.children.values()) {
    for (const [version, alias] of Object.entries(aliases)) {
      const target = node.children.get(version)
      if (target === undefined) continue
      if (node.children.has(alias))
        throw new Error(`the alias ${alias} of ${version} is taken by another route`)
      node.children.set(alias, target)
    }
  }

  return (httpMethod, path) => {
    let decoded = path
    if (path.includes('%')) {
      try {
        decoded = decodeURIComponent(path)
      } catch {
        return { kind: 'malformed-path' }
      }
    }
    const segments = decoded.slice(1).split('/')
    return find(root, httpMethod === 'HEAD' ? 'GET' : httpMethod, segments)
  }
}

function find(root: Node, httpMethod: string, segments: string[]): RouteMatch {
  const nodes: Node[] = [root]
  let node: Node | undefined = root
  for (let depth = 0; depth < segments.length; depth++) {
    node = node.children.get(segments[depth]!)
    if (node === undefined) break
    nodes.push(node)
  }
  const allow = new Set<string>()
  let other: Route | undefined
  const recordMethods = ({ routes }: Candidate, values: readonly string[]) => {
    for (const [method, route] of routes) {
      if (values.includes('') && !mayLackVariable(route)) continue
      allow.add(method)
      other ??= route
    }
  }
  if (node?.exact !== undefined) {
    const route = node.exact.routes.get(httpMethod)
    if (route !== undefined) return { kind: 'route', route, values: [] }
    recordMethods(node.exact, [])
  }
  for (let depth = nodes.length - 1; depth >= 0; depth--) {
    for (const candidate of nodes[depth]!.wildcards) {
      // What the tree has matched is not compared again: under an alias it is not the template's own text.
      const values = matchPath(candidate.template, segments, depth)
      if (values === undefined) continue
      const route = candidate.routes.get(httpMethod)
      if (route !== undefined) return { kind: 'route', route, values }
      recordMethods(candidate, values)
    }
  }
  if (other === undefined) return { kind: 'unknown-path' }
  if (allow.has('GET')) allow.add('HEAD')
  return { kind: 'wrong-method', allow: [...allow].sort(), route: other }
}

function newNode(): Node {
  return { children: new Map(), exact: undefined, wildcards: [] }
}

function insert(root: Node, route: Route): void {
  const { template, httpMethod } = route
  const { segments, verb } = template
  let node = root
  for (let index = 0; index < segments.length; index++) {
    const segment = segments[index]!
    if (typeof segment === 'string') {
      insertWildcard(node, route)
      return
    }
    const text = index === segments.length - 1 && verb !== '' ? `${segment.literal}:${verb}` : segment.literal
    const child = node.children.get(text) ?? newNode()
    node.children.set(text, child)
    node = child
  }
  node.exact ??= newCandidate(template)
  const other = node.exact.routes.get(httpMethod)
  if (other !== undefined) throw ambiguous(route, other)
  node.exact.routes.set(httpMethod, route)
}

function insertWildcard(node: Node, route: Route): void {
  const { httpMethod } = route
  const candidate = newCandidate(route.template)
  const { template, shape } = candidate
  for (const other of node.wildcards) {
    const conflicting = other.routes.get(httpMethod)
    if (
      conflicting !== undefined &&
      compareRank(candidate, other) === 0 &&
      templatesOverlap(template, other.template)
    ) {
      throw ambiguous(route, conflicting)
    }
  }
  // Templates that differ only in the field they fill stand side by side: the values are read by the route's own variables.
  const same = node.wildcards.find((one) => one.shape === shape)
  if (same !== undefined) {
    same.routes.set(httpMethod, route)
    return
  }
  candidate.routes.set(httpMethod, route)
  const later = node.wildcards.findIndex((other) => compareRank(candidate, other) < 0)
  node.wildcards.splice(later < 0 ? node.wildcards.length : later, 0, candidate)
}

function newCandidate(template: PathTemplate): Candidate {
  const { segments, variables, verb, wildcardIndex: rest } = template
  return {
    template,
    routes: new Map(),
    shape: JSON.stringify([segments, variables.map(({ start, end }) => [start, end]), verb]),
    rank: [
      verb === '' ? 1 : 0,
      -segments.filter((segment) => typeof segment === 'object').length,
      rest < 0 ? 0 : 1,
      -segments.length,
    ],
  }
}

/** Negative when `a` is tried before `b`. */
function compareRank(a: Candidate, b: Candidate): number {
  for (const [index, value] of a.rank.entries()) {
    const difference = value - b.rank[index]!
    if (difference !== 0) return difference
  }
  return 0
}

function ambiguous(a: Route, b: Route): Error {
  const name = ({ method, template }: Route) => `${method.parent.typeName}.${method.name} (${template.text})`
  return new Error(`${a.httpMethod} requests cannot be distinguished: ${name(a)} and ${name(b)}`)
}
