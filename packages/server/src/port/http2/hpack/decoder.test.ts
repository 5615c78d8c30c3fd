import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { HpackDecoder, HpackError } from './decoder.ts'
import { writeHeaderBlock } from './encoder.ts'

const wide = { headerBytesMax: 1_000_000, headerFieldsMax: 10_000 }

/** Bytes from hexadecimal digits, with any spaces between them. */
function bytes(hex: string): Buffer {
  return Buffer.from(hex.replace(/\s/g, ''), 'hex')
}

function integer(value: number, mask: number, first: number): Buffer {
  if (value < mask) return Buffer.of(first | value)
  const written = [first | mask]
  let rest = value - mask
  for (; rest >= 128; rest = Math.floor(rest / 128)) written.push((rest % 128) | 128)
  return Buffer.of(...written, rest)
}

function text(value: string): Buffer {
  return Buffer.concat([integer(value.length, 127, 0), Buffer.from(value, 'latin1')])
}

const indexed = (index: number) => integer(index, 127, 0x80)
const tableSize = (size: number) => integer(size, 31, 0x20)
const toIndex = (name: string, value: string) => Buffer.concat([Buffer.of(0x40), text(name), text(value)])
const notIndexed = (name: string, value: string) => Buffer.concat([Buffer.of(0), text(name), text(value)])

/** A field with the name `x` and these bytes as the Huffman code of its value. */
function coded(code: Uint8Array): Buffer {
  return Buffer.concat([bytes('00 0178'), integer(code.length, 127, 0x80), code])
}

/** Bits as bytes, padded with ones. */
function packed(bits: string): Buffer {
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1')
  return Buffer.from(padded.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? [])
}

/** The dynamic table, the latest entry first. */
function tableOf(decoder: HpackDecoder): string[] {
  const entries: string[] = []
  for (let index = 62; ; index++) {
    try {
      entries.push(decoder.decode(indexed(index))!.join(': '))
    } catch (error) {
      assert.ok(error instanceof HpackError)
      return entries
    }
  }
}

function rejects(block: Buffer, message: RegExp): void {
  assert.throws(
    () => new HpackDecoder(wide).decode(block),
    (error: unknown) => {
      assert.ok(error instanceof HpackError)
      assert.match(error.message, message)
      return true
    },
  )
}

describe('the examples of RFC 7541', () => {
  for (const [section, hex, fields, table] of [
    [
      'C.2.1',
      '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572',
      ['custom-key', 'custom-header'],
      ['custom-key: custom-header'],
    ],
    ['C.2.2', '040c 2f73 616d 706c 652f 7061 7468', [':path', '/sample/path'], []],
    ['C.2.3', '1008 7061 7373 776f 7264 0673 6563 7265 74', ['password', 'secret'], []],
    ['C.2.4', '82', [':method', 'GET'], []],
  ] as const) {
    test(`${section}: a field`, () => {
      const decoder = new HpackDecoder(wide)
      assert.deepEqual(decoder.decode(bytes(hex)), fields)
      assert.deepEqual(tableOf(decoder), table)
    })
  }

  const requests = [
    [
      [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com'],
      [':authority: www.example.com'],
    ],
    [
      [
        ':method',
        'GET',
        ':scheme',
        'http',
        ':path',
        '/',
        ':authority',
        'www.example.com',
        'cache-control',
        'no-cache',
      ],
      ['cache-control: no-cache', ':authority: www.example.com'],
    ],
    [
      [
        ':method',
        'GET',
        ':scheme',
        'https',
        ':path',
        '/index.html',
        ':authority',
        'www.example.com',
        'custom-key',
        'custom-value',
      ],
      ['custom-key: custom-value', 'cache-control: no-cache', ':authority: www.example.com'],
    ],
  ] as const
  const private21 = [
    'cache-control',
    'private',
    'date',
    'Mon, 21 Oct 2013 20:13:21 GMT',
    'location',
    'https://www.example.com',
  ]
  const cookie = 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'
  const responses = [
    [
      [':status', '302', ...private21],
      [
        'location: https://www.example.com',
        'date: Mon, 21 Oct 2013 20:13:21 GMT',
        'cache-control: private',
        ':status: 302',
      ],
    ],
    [
      [':status', '307', ...private21],
      [
        ':status: 307',
        'location: https://www.example.com',
        'date: Mon, 21 Oct 2013 20:13:21 GMT',
        'cache-control: private',
      ],
    ],
    [
      [
        ...[':status', '200', 'cache-control', 'private', 'date', 'Mon, 21 Oct 2013 20:13:22 GMT'],
        ...['location', 'https://www.example.com', 'content-encoding', 'gzip', 'set-cookie', cookie],
      ],
      [`set-cookie: ${cookie}`, 'content-encoding: gzip', 'date: Mon, 21 Oct 2013 20:13:22 GMT'],
    ],
  ] as const

  for (const [section, size, steps, blocks] of [
    [
      'C.3: requests',
      4096,
      requests,
      [
        '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
        '8286 84be 5808 6e6f 2d63 6163 6865',
        '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      ],
    ],
    [
      'C.4: requests with Huffman codes',
      4096,
      requests,
      [
        '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
        '8286 84be 5886 a8eb 1064 9cbf',
        '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      ],
    ],
    [
      'C.5: responses with evictions',
      256,
      responses,
      [
        `4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32
         3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d`,
        '4803 3330 37c1 c0bf',
        `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970
         7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61
         6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31`,
      ],
    ],
    [
      'C.6: responses with Huffman codes and evictions',
      256,
      responses,
      [
        `4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad
         1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
        '4883 640e ffc1 c0bf',
        `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2
         e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
      ],
    ],
  ] as const) {
    test(section, () => {
      const decoder = new HpackDecoder(wide)
      decoder.decode(tableSize(size))
      for (const [step, [fields, table]] of steps.entries()) {
        assert.deepEqual(decoder.decode(bytes(blocks[step]!)), fields)
        assert.deepEqual(tableOf(decoder), table)
      }
    })
  }
})

describe('integers', () => {
  test('C.1: follow on in further bytes', () => {
    for (const [hex, size] of [
      ['2a', 10],
      ['3f 9a 0a', 1337],
      ['3f 9a 8a 80 00', 1337],
    ] as const) {
      const decoder = new HpackDecoder(wide)
      decoder.decode(bytes(hex))
      decoder.decode(tableSize(0))
      decoder.decode(bytes(hex))
      if (size > 33) {
        decoder.decode(toIndex('a', 'b'.repeat(size - 33)))
        assert.equal(tableOf(decoder).length, 1)
      }
      decoder.decode(toIndex('a', 'b'.repeat(size)))
      assert.equal(tableOf(decoder).length, 0)
    }
  })

  test('are errors beyond four further bytes', () => {
    rejects(bytes('ff 80 80 80 80 00'), /integer is too large/)
    rejects(bytes('ff ff ff ff ff ff ff ff ff ff 01'), /integer is too large/)
    rejects(bytes('00 7f ff ff ff ff 0f'), /integer is too large/)
    rejects(bytes('ff ff ff ff 7f'), /no field has index 268435582/)
    rejects(bytes('00 7f ff ff ff 7f'), /ends inside a text/)
  })
})

describe('Huffman codes', () => {
  // Source: RFC 7541, appendix B.
  const codes: Readonly<Record<string, string>> = {
    '0': '00000',
    t: '01001',
    ' ': '010100',
    u: '101101',
    ':': '1011100',
    z: '1111011',
    '&': '11111000',
    Z: '11111101',
    '!': '1111111000',
    '+': '11111111011',
    '#': '111111111010',
    '\0': '1111111111000',
    '~': '1111111111101',
    '}': '11111111111101',
    '{': '111111111111110',
    '\\': '1111111111111110000',
    '\x01': '11111111111111111011000',
    '\t': '111111111111111111101010',
    '\x7f': '1111111111111111111111111100',
    '\xf9': '1111111111111111111111111110',
    '\n': '111111111111111111111111111100',
    '\r': '111111111111111111111111111101',
    '\x16': '111111111111111111111111111110',
  }

  test('of all lengths are decoded, wherever they start in a byte', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...Object.keys(codes)), { maxLength: 400 }), (characters) => {
        const code = packed(characters.map((character) => codes[character]).join(''))
        assert.deepEqual(new HpackDecoder(wide).decode(coded(code)), ['x', characters.join('')])
      }),
    )
  })

  test('end with at most 7 bits of padding', () => {
    assert.deepEqual(new HpackDecoder(wide).decode(coded(bytes('1f'))), ['x', 'a'])
    assert.deepEqual(new HpackDecoder(wide).decode(coded(packed(`${'00011'.repeat(5)}1111111`))), [
      'x',
      'aaaaa',
    ])
    for (const hex of ['ff', '1fff', '1fff ff', '1fff ffff', 'ff9f ffff ff', 'ffff ffff']) {
      rejects(coded(bytes(hex)), /malformed Huffman code/)
    }
  })

  test('end with ones, not with zeros or a part of another code', () => {
    for (const hex of ['18', '1e', '1b', 'fe', '1ffe', 'ffff fffe']) {
      rejects(coded(bytes(hex)), /malformed Huffman code/)
    }
  })

  test('do not contain EOS', () => {
    for (const hex of ['ffff ffff', 'ffff fffc', 'ffff fffc ff', '1fff ffff ff', 'ffff ffff ffff ffff']) {
      rejects(coded(bytes(hex)), /malformed Huffman code/)
    }
  })

  test('are errors also where the text is longer than the limits', () => {
    const decoder = new HpackDecoder({ headerBytesMax: 10, headerFieldsMax: 10 })
    assert.throws(() => decoder.decode(coded(bytes('ffff ffff'))), HpackError)
  })

  test('that repeat are the same texts', () => {
    const decoder = new HpackDecoder(wide)
    const random = Array.from({ length: 30 }, (_, seed) => {
      const characters = Object.keys(codes).toSorted(
        (a, b) => ((a.charCodeAt(0) * (seed + 3)) % 101) - ((b.charCodeAt(0) * (seed + 3)) % 101),
      )
      return characters.join('')
    })
    for (let at = 0; at < 500; at++) {
      const expected = random[(at * at) % 30]!
      const code = packed([...expected].map((character) => codes[character]).join(''))
      assert.deepEqual(decoder.decode(coded(code)), ['x', expected])
      const plain = code.toString('latin1')
      assert.deepEqual(
        decoder.decode(notIndexed('x', plain)),
        ['x', plain],
        'the bytes of a code are also a text',
      )
    }
  })

  test('that repeat count for the limits', () => {
    const code = packed(codes['0']!.repeat(80))
    const decoder = new HpackDecoder({ headerBytesMax: 200, headerFieldsMax: 10 })
    assert.deepEqual(decoder.decode(coded(code)), ['x', '0'.repeat(80)])
    assert.equal(decoder.decode(Buffer.concat([coded(code), coded(code)])), undefined)
  })
})

describe('the dynamic table', () => {
  test('has no field with an index beyond it, or with index 0', () => {
    rejects(bytes('80'), /no field has index 0/)
    rejects(indexed(62), /no field has index 62/)
    rejects(Buffer.concat([toIndex('a', 'b'), indexed(63)]), /no field has index 63/)
    for (const literal of ['0f 2f', '1f 2f', '7f 00']) {
      rejects(Buffer.concat([bytes(literal), text('b')]), /no field has index (62|63)/)
    }
  })

  test('evicts the oldest fields', () => {
    const decoder = new HpackDecoder(wide)
    for (let at = 0; at < 1000; at++) decoder.decode(toIndex(`name-${at}`, 'v'.repeat(at % 50)))
    const entries = tableOf(decoder)
    const size = entries.reduce((sum, entry) => sum + entry.length - 2 + 32, 0)
    assert.ok(size <= 4096 && size > 4096 - 100, `${size}`)
    assert.deepEqual(
      entries,
      entries.map((_, age) => `name-${999 - age}: ${'v'.repeat((999 - age) % 50)}`),
    )
  })

  test('holds 128 fields without name and value', () => {
    const decoder = new HpackDecoder(wide)
    for (let at = 0; at < 300; at++) decoder.decode(toIndex('', ''))
    assert.equal(tableOf(decoder).length, 128)
  })

  test('adds a field with the name of one that it evicts', () => {
    const decoder = new HpackDecoder(wide)
    decoder.decode(toIndex('name', 'v'.repeat(4000)))
    const block = Buffer.concat([bytes('7e'), text('w'.repeat(4000))])
    assert.deepEqual(decoder.decode(block), ['name', 'w'.repeat(4000)])
    assert.deepEqual(tableOf(decoder), [`name: ${'w'.repeat(4000)}`])
  })

  test('is emptied by a field that is larger', () => {
    for (const [name, value] of [
      ['a', 'b'.repeat(4096 - 32)],
      ['a'.repeat(5000), 'b'],
    ] as const) {
      for (const limits of [wide, { headerBytesMax: 100, headerFieldsMax: 10 }]) {
        const decoder = new HpackDecoder(limits)
        decoder.decode(toIndex('x', 'y'))
        assert.deepEqual(decoder.decode(toIndex(name, value)), limits === wide ? [name, value] : undefined)
        assert.deepEqual(tableOf(decoder), [])
        decoder.decode(toIndex('x', 'y'))
        assert.deepEqual(tableOf(decoder), ['x: y'])
      }
    }
  })

  test('evicts fields as its size is reduced', () => {
    const decoder = new HpackDecoder(wide)
    decoder.decode(Buffer.concat([toIndex('a', '1'), toIndex('b', '2'), toIndex('c', '3')]))
    decoder.decode(tableSize(2 * 34))
    assert.deepEqual(tableOf(decoder), ['c: 3', 'b: 2'])
    assert.deepEqual(decoder.decode(Buffer.concat([tableSize(0), tableSize(4096), toIndex('d', '4')])), [
      'd',
      '4',
    ])
    assert.deepEqual(tableOf(decoder), ['d: 4'])
  })

  test('has at most the size of the setting', () => {
    rejects(tableSize(4097), /above the setting/)
  })

  test('changes its size at most twice, at the start of a block', () => {
    rejects(Buffer.concat([tableSize(1), tableSize(2), tableSize(3)]), /too many updates/)
    rejects(Buffer.concat([indexed(2), tableSize(100)]), /size update after a field/)
  })
})

describe('a header list', () => {
  test('is empty for an empty block', () => {
    assert.deepEqual(new HpackDecoder(wide).decode(Buffer.alloc(0)), [])
  })

  test('has texts in latin1', () => {
    assert.deepEqual(new HpackDecoder(wide).decode(notIndexed('n\xe4me', '\x00\xff')), [
      'n\xe4me',
      '\x00\xff',
    ])
  })

  test('is undefined beyond the bytes of the limit', () => {
    const block = Buffer.concat([indexed(2), notIndexed('name', 'value')])
    const size = 7 + 3 + 32 + 4 + 5 + 32
    assert.ok(new HpackDecoder({ headerBytesMax: size, headerFieldsMax: 2 }).decode(block))
    assert.equal(new HpackDecoder({ headerBytesMax: size - 1, headerFieldsMax: 2 }).decode(block), undefined)
  })

  test('is undefined beyond the fields of the limit', () => {
    const block = Buffer.concat([indexed(2), indexed(4)])
    assert.ok(new HpackDecoder({ headerBytesMax: 1000, headerFieldsMax: 2 }).decode(block))
    assert.equal(new HpackDecoder({ headerBytesMax: 1000, headerFieldsMax: 1 }).decode(block), undefined)
  })

  test('stays undefined if smaller fields follow', () => {
    const block = Buffer.concat([notIndexed('name', 'v'.repeat(100)), indexed(2)])
    assert.equal(new HpackDecoder({ headerBytesMax: 100, headerFieldsMax: 9 }).decode(block), undefined)
  })

  test('costs little if it repeats a large field of the table', () => {
    const decoder = new HpackDecoder({ headerBytesMax: 16_384, headerFieldsMax: 100 })
    decoder.decode(toIndex('name', 'v'.repeat(3000)))
    const block = Buffer.alloc(5000, indexed(62))
    const start = performance.now()
    for (let at = 0; at < 20; at++) assert.equal(decoder.decode(block), undefined)
    assert.ok(performance.now() - start < 1000)
  })

  test('is an error if the block ends before the field', () => {
    const whole = Buffer.concat([
      toIndex('name', 'value'),
      coded(bytes('1f')),
      notIndexed('n'.repeat(200), 'v'.repeat(300)),
    ])
    const ends = new Set([0, 12, 17, whole.length])
    for (let end = 0; end <= whole.length; end++) {
      const decode = () => new HpackDecoder(wide).decode(whole.subarray(0, end))
      if (ends.has(end)) assert.ok(decode())
      else assert.throws(decode, HpackError, `${end}`)
    }
  })
})

describe('any bytes', () => {
  const words = fc.string({ unit: 'binary-ascii', maxLength: 40 })
  const fields = fc.oneof(
    fc.nat(130).map(indexed),
    fc.tuple(words, words).map(([name, value]) => toIndex(name, value)),
    fc.tuple(words, fc.nat(5000)).map(([name, length]) => toIndex(name, 'v'.repeat(length))),
    fc.tuple(words, words).map(([name, value]) => notIndexed(name, value)),
    fc
      .tuple(fc.integer({ min: 1, max: 80 }), words)
      .map(([index, value]) => Buffer.concat([integer(index, 63, 0x40), text(value)])),
    fc.uint8Array({ maxLength: 40 }).map(coded),
  )
  const blocks = fc
    .tuple(fc.array(fc.nat(4200).map(tableSize), { maxLength: 2 }), fc.array(fields, { maxLength: 30 }))
    .map(([sizes, written]) => Buffer.concat([...sizes, ...written]))
  const anyBlocks = fc.oneof(
    { weight: 3, arbitrary: blocks },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((block) => Buffer.from(block)) },
    { weight: 1, arbitrary: fc.tuple(blocks, fc.nat(), fc.nat(255)).map(replaceByte) },
  )

  function replaceByte([block, at, byte]: [Buffer, number, number]): Buffer {
    if (block.length > 0) block[at % block.length] = byte
    return block
  }

  function decodeOrFail(decoder: HpackDecoder, block: Buffer): string[] | undefined | 'error' {
    try {
      return decoder.decode(block)
    } catch (error) {
      assert.ok(error instanceof HpackError, String(error))
      return 'error'
    }
  }

  test('are decoded, or an HpackError, whatever the limits are', () => {
    fc.assert(
      fc.property(
        fc.array(anyBlocks, { maxLength: 10 }),
        fc.nat(3000),
        fc.nat(10),
        (sent, headerBytesMax, headerFieldsMax) => {
          const decoder = new HpackDecoder(wide)
          const limited = new HpackDecoder({ headerBytesMax, headerFieldsMax })
          for (const block of sent) {
            const list = decodeOrFail(decoder, block)
            const limitedList = decodeOrFail(limited, block)
            if (list === undefined || list === 'error') assert.equal(limitedList, list)
            else {
              const size = list.reduce((sum, written) => sum + written.length + 16, 0)
              const fits = size <= headerBytesMax && list.length <= headerFieldsMax * 2
              assert.deepEqual(limitedList, fits ? list : undefined)
            }
            if (list === 'error') return
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  test('that the encoder wrote are the same fields', () => {
    const latin1 = fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 300 })
    fc.assert(
      fc.property(fc.array(latin1, { maxLength: 20 }), (texts) => {
        const list = texts.slice(0, texts.length & ~1)
        const out = Buffer.alloc(10_000)
        const end = writeHeaderBlock(list, out, 5)
        assert.deepEqual(new HpackDecoder(wide).decode(out.subarray(5, end)), list)
      }),
    )
  })
})
