import { documentLimits } from '../../documents/document-limits.ts'
import {
  isObject,
  type Json,
  type JsonObject,
  member,
  rawText,
  shownText,
} from '../../documents/json-values.ts'
import { isStated } from '../spdx/spdx-licenses.ts'
import { type ElementGraph, idOf, typeOf } from './element-graph.ts'

const { sbomLicenseCharsMax, sbomLicenseDepthMax, sbomLicenseMembersMax } = documentLimits

const LISTED = /^https?:\/\/spdx\.org\/licenses\/([\w.+-]+)$/

/**
 * Returns a function from packages to the licence that they declare, else the concluded one, as an SPDX expression; '' if neither is
 * stated. Each licence is evaluated once.
 */
export function createLicenseReader(graph: ElementGraph): (element: JsonObject) => string {
  const known = new Map<string, string>()
  const expression = (license: string): string => {
    const found = known.get(license) ?? expressionOf(license, graph, { depth: 0, visits: 0 })
    known.set(license, found)
    return found
  }
  return (element) => {
    const id = idOf(element)
    for (const licenses of [graph.declaredLicensesOf(id), graph.concludedLicensesOf(id)]) {
      const texts = licenses.slice(0, sbomLicenseMembersMax).map(expression).filter(isStated)
      const joined = texts.join(' AND ')
      if (texts.length > 0 && joined.length <= sbomLicenseCharsMax) return joined
    }
    return ''
  }
}

/** Licences combine others by id, so cycles and repetition are possible. */
interface Walk {
  readonly depth: number
  visits: number
}

function expressionOf(license: Json | undefined, graph: ElementGraph, walk: Walk): string {
  if (typeof license === 'string') {
    const listed = LISTED.exec(license)?.[1]
    return listed ?? expressionOf(graph.byId.get(license), graph, walk)
  }
  if (!isObject(license) || walk.depth > sbomLicenseDepthMax || ++walk.visits > sbomLicenseMembersMax)
    return ''
  switch (typeOf(license)) {
    case 'simplelicensing_LicenseExpression':
      return shownText(license, 'simplelicensing_licenseExpression', sbomLicenseCharsMax)
    case 'expandedlicensing_ConjunctiveLicenseSet':
      return combined(license, ' AND ', graph, walk)
    case 'expandedlicensing_DisjunctiveLicenseSet':
      return combined(license, ' OR ', graph, walk)
    case 'expandedlicensing_OrLaterOperator': {
      const subject = member(license, 'expandedlicensing_subjectLicense')
      const text = expressionOf(subject, graph, deeper(walk))
      return text === '' ? '' : `${text}+`
    }
    default:
      return LISTED.exec(rawText(license, 'spdxId'))?.[1] ?? shownText(license, 'name', sbomLicenseCharsMax)
  }
}

function combined(license: JsonObject, operator: string, graph: ElementGraph, walk: Walk): string {
  const members = member(license, 'expandedlicensing_member')
  if (!Array.isArray(members)) return ''
  const inner = deeper(walk)
  const texts = members
    .slice(0, sbomLicenseMembersMax)
    .map((each: Json) => expressionOf(each, graph, inner))
    .filter(isStated)
  walk.visits = inner.visits
  return texts.length > 1 ? `(${texts.join(operator)})` : (texts[0] ?? '')
}

function deeper({ depth, visits }: Walk): Walk {
  return { depth: depth + 1, visits }
}
