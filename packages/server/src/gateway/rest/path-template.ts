/**
 * Paths of google.api.http. Beyond that grammar literals may follow `**` here (`/repos/{uid=**}/readme`): the wildcard
 * then ends before them. A verb belongs to the routes that declare it; anywhere else a colon is data.
 */

/** A literal segment, exactly one segment of any text, or the rest of the path: zero or more segments. */
export type Segment = { readonly literal: string } | '*' | '**'

/** A part of the template that fills a field: the segments from `start` up to `end`. */
export interface Variable {
  /** Proto names, outermost first: `group.uid` is `['group', 'uid']`. */
  readonly fieldPath: readonly string[]
  readonly start: number
  readonly end: number
}

export interface PathTemplate {
  readonly text: string
  readonly segments: readonly Segment[]
  /** Index of `**` in `segments`; -1 without one. */
  readonly wildcardIndex: number
  readonly variables: readonly Variable[]
  /** Without its colon; empty when the template has none. */
  readonly verb: string
}

const literalText = /^[A-Za-z0-9._~-]+$/
const fieldPathText = /^[a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)*$/
const verbText = /:([A-Za-z][A-Za-z0-9]*)$/

/** Reads a template. Throws an Error that names it when it is not one: a mistake in a schema, found at start. */
export function parsePathTemplate(text: string): PathTemplate {
  const verb = verbText.exec(text)?.[1] ?? ''
  const path = verb === '' ? text : text.slice(0, -verb.length - 1)
  if (!path.startsWith('/')) throw malformed(text, 'it must start with /')
  const segments: Segment[] = []
  const variables: Variable[] = []
  for (const part of splitOutsideBraces(path.slice(1))) {
    if (!part.startsWith('{')) {
      segments.push(parseSegment(text, part))
      continue
    }
    if (!part.endsWith('}')) throw malformed(text, `a variable ends inside a segment: ${part}`)
    const inside = part.slice(1, -1)
    const equals = inside.indexOf('=')
    const name = equals < 0 ? inside : inside.slice(0, equals)
    const pattern = equals < 0 ? '*' : inside.slice(equals + 1)
    if (!fieldPathText.test(name)) throw malformed(text, `not a field path: ${name}`)
    const start = segments.length
    for (const segment of pattern.split('/')) segments.push(parseSegment(text, segment))
    variables.push({ fieldPath: name.split('.'), start, end: segments.length })
  }
  const rest = segments.indexOf('**')
  if (rest !== segments.lastIndexOf('**')) throw malformed(text, 'more than one **')
  return { text, segments, wildcardIndex: rest, variables, verb }
}

/**
 * The values of the template's variables, in their order, or undefined when the path does not match. `path` is the decoded
 * path split at its slashes, without the empty text before the first. The first `known` segments, all literals, are taken as
 * matched.
 */
export function matchPath(
  template: PathTemplate,
  path: readonly string[],
  matchedSegments = 0,
): string[] | undefined {
  const { segments, wildcardIndex: rest, verb } = template
  const { length } = segments
  if (rest < 0 ? path.length !== length : path.length < length - 1) return undefined
  if (verb !== '') {
    const last = path.at(-1)
    if (!last?.endsWith(`:${verb}`)) return undefined
    path = [...path.slice(0, -1), last.slice(0, -verb.length - 1)]
  }
  // A path shifts against the template behind `**`, by the number of segments that `**` took, less the one it is.
  const shift = path.length - length
  for (let index = matchedSegments; index < length; index++) {
    const segment = segments[index]!
    if (typeof segment === 'string') continue
    if (path[rest >= 0 && index > rest ? index + shift : index] !== segment.literal) return undefined
  }
  return template.variables.map(({ start, end }) => {
    const from = rest >= 0 && start > rest ? start + shift : start
    const to = rest >= 0 && end > rest ? end + shift : end
    return to - from === 1 ? path[from]! : path.slice(from, to).join('/')
  })
}

/** Whether some path matches both. */
export function templatesOverlap(a: PathTemplate, b: PathTemplate): boolean {
  if (a.verb !== b.verb) return false
  const [short, long] = a.segments.length <= b.segments.length ? [a, b] : [b, a]
  if (a.wildcardIndex < 0 && b.wildcardIndex < 0 && short.segments.length !== long.segments.length)
    return false
  if (short.wildcardIndex < 0 && long.wildcardIndex >= 0 && short.segments.length < long.segments.length - 1)
    return false
  const before = Math.min(
    ...[a, b].map(({ wildcardIndex: rest, segments }) => (rest < 0 ? segments.length : rest)),
  )
  const after = Math.min(
    ...[a, b].map(({ wildcardIndex: rest, segments }) =>
      rest < 0 ? segments.length : segments.length - 1 - rest,
    ),
  )
  const compatible = (x: Segment | undefined, y: Segment | undefined) =>
    typeof x !== 'object' || typeof y !== 'object' || x.literal === y.literal
  for (let index = 0; index < before; index++)
    if (!compatible(a.segments[index], b.segments[index])) return false
  for (let index = 1; index <= after; index++)
    if (!compatible(a.segments.at(-index), b.segments.at(-index))) return false
  return true
}

function parseSegment(template: string, text: string): Segment {
  if (text === '*' || text === '**') return text
  if (!literalText.test(text)) throw malformed(template, `not a segment: ${JSON.stringify(text)}`)
  return { literal: text }
}

function splitOutsideBraces(text: string): string[] {
  return text.split(/\/(?![^{]*\})/)
}

function malformed(template: string, why: string): Error {
  return new Error(`the path template ${JSON.stringify(template)} is malformed: ${why}`)
}
