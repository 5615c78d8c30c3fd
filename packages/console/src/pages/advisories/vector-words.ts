/** CVSS vectors in words: the base metrics of versions 2, 3 and 4. */

interface MetricText {
  readonly name: string
  readonly values: Readonly<Record<string, string>>
}

const impact = { N: 'none', L: 'low', H: 'high' } as const
const reach = {
  N: 'over a network',
  A: 'from an adjacent network',
  L: 'with local access',
  P: 'with physical access',
} as const

const third: Readonly<Record<string, MetricText>> = {
  AV: { name: 'Attack', values: reach },
  AC: { name: 'Complexity of the attack', values: { L: 'low', H: 'high' } },
  PR: { name: 'Privileges required', values: impact },
  UI: { name: 'Interaction of a user', values: { N: 'not required', R: 'required' } },
  S: { name: 'Scope', values: { U: 'only the vulnerable component', C: 'other components too' } },
  C: { name: 'Confidentiality impact', values: impact },
  I: { name: 'Integrity impact', values: impact },
  A: { name: 'Availability impact', values: impact },
}

const fourth: Readonly<Record<string, MetricText>> = {
  AV: { name: 'Attack', values: reach },
  AC: { name: 'Complexity of the attack', values: { L: 'low', H: 'high' } },
  AT: { name: 'Conditions for the attack', values: { N: 'none', P: 'present' } },
  PR: { name: 'Privileges required', values: impact },
  UI: { name: 'Interaction of a user', values: { N: 'not required', P: 'passive', A: 'active' } },
  VC: { name: 'Confidentiality impact on the system', values: impact },
  VI: { name: 'Integrity impact on the system', values: impact },
  VA: { name: 'Availability impact on the system', values: impact },
  SC: { name: 'Confidentiality impact on other systems', values: impact },
  SI: { name: 'Integrity impact on other systems', values: impact },
  SA: { name: 'Availability impact on other systems', values: impact },
}

const partial = { N: 'none', P: 'partial', C: 'complete' } as const
const second: Readonly<Record<string, MetricText>> = {
  AV: { name: 'Attack', values: reach },
  AC: { name: 'Complexity of the attack', values: { L: 'low', M: 'medium', H: 'high' } },
  Au: { name: 'Authentication', values: { N: 'not required', S: 'once', M: 'several times' } },
  C: { name: 'Confidentiality impact', values: partial },
  I: { name: 'Integrity impact', values: partial },
  A: { name: 'Availability impact', values: partial },
}

/** For example "CVSS 3.1"; the vectors of version 2 do not state it. */
export const versionOfVector = (vector: string): string =>
  `CVSS ${/^CVSS:([\d.]{1,4})\//.exec(vector)?.[1] ?? '2.0'}`

/** Returns the base metrics of a vector as names and values; metrics that are unknown are left out. */
export function explainVector(vector: string): (readonly [name: string, value: string])[] {
  const texts = vector.startsWith('CVSS:4') ? fourth : vector.startsWith('CVSS:') ? third : second
  const given = new Map(
    vector
      .split('/')
      .map((part) => part.split(':', 2))
      .map(([metric = '', value = '']) => [metric, value] as const),
  )
  return Object.entries(texts).flatMap(([metric, { name, values }]) => {
    const value = values[given.get(metric) ?? '']
    return value === undefined ? [] : [[name, value] as const]
  })
}
