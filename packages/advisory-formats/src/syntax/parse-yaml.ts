import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  Parser,
  type Scalar as YamlScalar,
} from 'yaml'
import { formatLimits } from '../limits.ts'
import { DocumentProblem, type Entries, excerpt, type Fields, NO_OFFSET, type Value } from './source-value.ts'
import { createTreeBuilder } from './tree-builder.ts'

/**
 * Parses a YAML document, with every scalar as the text that is written: version 1.10 and id 709e464319060510 stay unchanged.
 * Throws a DocumentProblem for malformed text, several documents, a duplicate name in a map, tags, and for more size, depth,
 * or repetition by aliases than the limits allow.
 */
export function parseYaml(text: string): Value {
  if (text.length > formatLimits.advisoryYamlCharsMax) {
    throw new DocumentProblem(
      NO_OFFSET,
      `the document is YAML of more than ${formatLimits.advisoryYamlCharsMax} characters: write it as JSON, or split it`,
    )
  }
  const document = compose(text)
  const error = document.errors[0] ?? document.warnings[0]
  if (error !== undefined) throw notYaml(error.pos[0], error.message)
  if (document.contents === null) throw new DocumentProblem(NO_OFFSET, 'the document is empty')
  return treeOf(document.contents)
}

/** The forms in which the composer reports a location. */
type ErrorLocation = number | readonly number[] | { readonly offset: number }

function offsetOf(source: ErrorLocation): number {
  if (typeof source === 'number') return source
  return 'offset' in source ? source.offset : (source[0] ?? 0)
}

function notYaml(at: number, message: string): DocumentProblem {
  return new DocumentProblem(at, `the document is not YAML: ${message}`)
}

/** Stops at the first sign of excess, before the costlier step from tokens to nodes. */
function compose(text: string): Document.Parsed {
  // Duplicate names are checked below, where a check costs one look-up each.
  const composer = new Composer({ schema: 'failsafe', uniqueKeys: false, logLevel: 'silent' })
  // The composer collects problems, up to a million from a malicious document. The first one is thrown, whatever the composer
  // does with the error.
  let first: DocumentProblem | undefined
  composer['onError'] = (source: ErrorLocation, _code: string, message: string) => {
    first ??= notYaml(offsetOf(source), message)
    throw first
  }
  const parser = new Parser()
  let found: Document.Parsed | undefined
  const consume = (token: Parameters<typeof composer.next>[0]) => {
    if (token.type === 'error') throw notYaml(token.offset, token.message)
    collect(composer.next(token))
  }
  const collect = (documents: Iterable<Document.Parsed>) => {
    for (const document of documents) {
      if (found !== undefined) {
        throw new DocumentProblem(document.range[0], 'the file has more than one document: split it')
      }
      found = document
    }
  }
  let lexemes = 0
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) consume(token)
    if (++lexemes > formatLimits.advisoryYamlLexemesMax) {
      throw new DocumentProblem(
        parser.offset,
        `the document has more than ${formatLimits.advisoryYamlLexemesMax} lexical elements: split it`,
      )
    }
    // Each level has at most two unfinished tokens; the exact depth is checked below.
    if (parser.stack.length > 2 * formatLimits.advisoryDepthMax + 2) {
      throw new DocumentProblem(
        parser.offset,
        `the document is nested deeper than ${formatLimits.advisoryDepthMax} levels`,
      )
    }
  }
  for (const token of parser.end()) consume(token)
  collect(composer.end(true, text.length))
  return found as Document.Parsed
}

/** Where a value is added. */
interface TreePosition {
  readonly parent: Entries | Fields | undefined
  readonly name: string
  readonly depth: number
}

function treeOf(contents: Node): Value {
  const builder = createTreeBuilder()
  const anchors = new Map<string, Node>()
  /** Nodes on the current path: an alias of one of them would be infinite. */
  const open = new Set<Node>()
  let aliases = 0
  /** Depth of aliases on the current path, and the number of values that all aliases expanded to. */
  let repeating = 0
  let repeated = 0

  const walk = (node: Node, position: TreePosition): Value => {
    const at = node.range?.[0] ?? 0
    if (isAlias(node)) return expandAlias(node.source, at, position)
    checkTag(node, at)
    if ('anchor' in node && node.anchor !== undefined) anchors.set(node.anchor, node)
    if (repeating > 0 && ++repeated > formatLimits.advisoryYamlRepeatedValuesMax) {
      const most = formatLimits.advisoryYamlRepeatedValuesMax
      throw new DocumentProblem(at, `aliases repeat more than ${most} values: write them out`)
    }
    const { parent, name, depth } = position
    if (isScalar(node)) {
      return builder.add({ at, parent, name, kind: kindOf(node), text: String(node.value), isRead: false })
    }
    builder.checkDepth(depth, at)
    open.add(node)
    const value = isSeq<Node>(node) ? entries(node.items, at, position) : fields(node, at, position)
    open.delete(node)
    return value
  }

  const expandAlias = (source: string, at: number, position: TreePosition): Value => {
    const alias = `the alias *${excerpt(source, 40)}`
    const node = anchors.get(source)
    if (node === undefined) throw new DocumentProblem(at, `${alias} has no anchor`)
    if (open.has(node)) throw new DocumentProblem(at, `${alias} is inside the value that it refers to`)
    if (++aliases > formatLimits.advisoryYamlAliasesMax) {
      throw new DocumentProblem(
        at,
        `the document has more than ${formatLimits.advisoryYamlAliasesMax} aliases`,
      )
    }
    repeating++
    const value = walk(node, position)
    repeating--
    return value
  }

  const entries = (items: readonly Node[], at: number, { parent, name, depth }: TreePosition): Entries => {
    const list = builder.add<Entries>({ at, parent, name, kind: 'list', items: [] })
    for (const [index, item] of items.entries()) {
      walk(item, { parent: list, name: String(index), depth: depth + 1 })
    }
    return list
  }

  const fields = (node: Node, at: number, { parent, name, depth }: TreePosition): Fields => {
    const map = builder.add<Fields>({
      at,
      parent,
      name,
      kind: 'fields',
      byName: new Map(),
      isDictionary: false,
    })
    for (const { key, value } of isMap<Node, Node | null>(node) ? node.items : []) {
      const keyAt = key.range?.[0] ?? at
      if (!isScalar(key)) throw new DocumentProblem(keyAt, 'the name of a field is not plain text')
      checkTag(key, keyAt)
      const position = { parent: map, name: String(key.value), depth: depth + 1 }
      builder.checkName(map, position.name, keyAt)
      if (value === null)
        builder.add({ at: keyAt, parent: map, name: position.name, kind: 'null', text: '', isRead: false })
      else walk(value, position)
    }
    return map
  }

  return walk(contents, { parent: undefined, name: '', depth: 1 })
}

const neutralTags = ['str', 'map', 'seq'].map((name) => `tag:yaml.org,2002:${name}`)

/** Rejects tags: they change the type of a scalar, which other readers would interpret differently. */
function checkTag(node: Node, at: number): void {
  if (isAlias(node) || node.tag === undefined || neutralTags.includes(node.tag)) return
  throw new DocumentProblem(at, `the tag ${excerpt(node.tag, 40)} is not supported in advisories`)
}

/** Plain scalars that all but the most basic schemas read as null. */
function kindOf({ type, value }: YamlScalar): 'null' | 'text' {
  return type === 'PLAIN' && /^(?:|~|null|Null|NULL)$/.test(String(value)) ? 'null' : 'text'
}
