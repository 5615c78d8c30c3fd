import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildWordBlocks, isPartOfWord, markPositions, wordsOf } from './word-blocks.ts'

/** The index of words finds exactly the texts that contain a part, for parts of words. */

test('words are runs of letters and digits, with some characters between them', () => {
  for (const [text, words] of [
    ['', []],
    ['heap overflow, heap.', ['heap', 'overflow']],
    ['cve-2024-3094 in node.js (x_y)', ['cve-2024-3094', 'in', 'node.js', 'x_y']],
    ['--flag http://example.com/a-', ['flag', 'http', 'example.com', 'a']],
    ['überlauf straße 漏洞', ['überlauf', 'straße', '漏洞']],
    ['...', []],
  ] as const)
    assert.deepEqual([...wordsOf(text)], words, text)
})

test('a part that can contain the end of a word is no part of a word', () => {
  for (const part of ['a', 'over', '2024-3094', 'node.js', 'x_y', '漏', 'e\u0301'])
    assert.equal(isPartOfWord(part), true, part)
  for (const part of ['', '-', '-a', 'a.', 'http/2', '100%', 'a,b', '<script>', "' or 1=1", '🙂'])
    assert.equal(isPartOfWord(part), false, part)
})

/** Returns the positions with all parts. */
async function find(texts: readonly string[], parts: readonly string[]): Promise<number[]> {
  const marks = new Uint8Array(texts.length)
  const blocks = await buildWordBlocks(texts)
  for (const [count, part] of parts.entries())
    for (const block of blocks) markPositions(block, part, marks, count)
  return [...marks.keys()].filter((position) => marks[position] === parts.length)
}

test('the texts that contain all parts are found, and no other', async () => {
  // Many blocks, and positions of several bytes.
  const texts = Array.from(
    { length: 3000 },
    (_, at) => `word${at} shared-${at % 7} ${at % 130 === 0 ? 'seldom.' : ''} (end${at % 2})`,
  )
  for (const parts of [
    ['word'],
    ['word2999'],
    ['ord1'],
    ['shared-3', 'end1'],
    ['seldom'],
    ['seldom', 'end0', 'shared-6'],
    ['hared-3', '99'],
    ['absent'],
    ['word1', 'absent'],
  ]) {
    const expected = [...texts.keys()].filter((at) => parts.every((part) => texts[at]?.includes(part)))
    assert.deepEqual(await find(texts, parts), expected, parts.join(' '))
  }
})
