import type { Resource } from '@berth/client'
import { writeAddressState } from '../address-query.ts'

/** The pages and actions that the search offers besides resources. */

export interface SearchEntry {
  readonly id: string
  readonly title: string
  readonly detail: string
  /** Below `/console`. */
  readonly address: string
}

export interface SearchSection {
  readonly id: string
  readonly title: string
  readonly entries: readonly SearchEntry[]
}

interface PageContext {
  /** uid of the organization of the page; '' for none. */
  readonly organization: string
  readonly isOperator: boolean
}

interface NamedPage {
  readonly title: string
  readonly address: string
  /** Other words for it. */
  readonly words: string
}

/** Returns the pages that the text names; all of them for none. */
export function pageEntries(text: string, context: PageContext): SearchEntry[] {
  const { organization, isOperator } = context
  const ofOrganization: readonly NamedPage[] = [
    { title: 'Repositories', address: `/folders/${organization}?tab=repositories`, words: 'images' },
    { title: 'People', address: `/folders/${organization}?tab=people`, words: 'members users' },
    { title: 'Roles', address: `/folders/${organization}?tab=roles`, words: 'capabilities permissions' },
    { title: 'Access', address: `/access/${organization}`, words: 'explain permissions' },
    { title: 'Identities', address: `/folders/${organization}?tab=identities`, words: 'workloads ci' },
    { title: 'Invites', address: `/folders/${organization}?tab=invites`, words: '' },
    { title: 'Pull tokens', address: `/folders/${organization}?tab=pull-tokens`, words: 'docker login' },
    {
      title: 'Pull policies',
      address: `/folders/${organization}?tab=pull-policies`,
      words: 'policies decisions overrides',
    },
    { title: 'Organization settings', address: `/settings/${organization}`, words: 'usage sign-in domains' },
  ]
  const pages: readonly NamedPage[] = [
    { title: 'Home', address: '/', words: 'organizations' },
    { title: 'Advisories', address: '/advisories', words: 'vulnerabilities cve' },
    { title: 'Audit log', address: '/audit', words: 'events history' },
    ...(organization === '' ? [] : ofOrganization),
    ...(isOperator
      ? [{ title: 'Operator', address: '/operator', words: 'accounts sessions keys jobs' }]
      : []),
  ]
  return pages
    .filter(({ title, words }) => hasWord(`${title} ${words}`, text))
    .map(({ title, address }) => ({ id: `page ${address}`, title, detail: '', address }))
}

function hasWord(words: string, text: string): boolean {
  return ` ${words.toLowerCase()}`.includes(` ${text.toLowerCase()}`)
}

/** Returns what else can be done with a text, and with the best match. */
export function searchActions(text: string, [best]: readonly Resource[]): SearchEntry[] {
  const actions: SearchEntry[] = [
    {
      id: 'action advisories',
      title: `Search advisories for ${text}`,
      detail: '',
      address: `/advisories${writeAddressState({ query: text })}`,
    },
  ]
  if (best === undefined || best.kind === 'RESOURCE_KIND_MANIFEST') return actions
  const isActor = best.kind === 'RESOURCE_KIND_USER' || best.kind === 'RESOURCE_KIND_IDENTITY'
  actions.push({
    id: 'action audit',
    title: `Show audit events ${isActor ? 'by' : 'of'} ${best.path && !isActor ? best.path : best.name}`,
    detail: '',
    address: `/audit${writeAddressState({ [isActor ? 'actor' : 'resource']: best.uid, range: 'all' })}`,
  })
  return actions
}
