import { useQueryClient } from '@tanstack/react-query'
import { ArrowRight } from 'lucide-react'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Button, FieldError, Form, Input, Label, Text, TextField } from 'react-aria-components'
import { tagDigestQuery } from '../../api/queries/registry/manifests.ts'
import { messageOf } from '../../api/query-client.ts'
import { useLatestSignal } from '../../use-latest-signal.ts'

interface ImageChoiceProps {
  readonly label: string
  /** uid of the repository. */
  readonly repo: string
  /** '' for none yet. */
  readonly digest: string
  readonly onChoose: (digest: string) => void
}

const digestPattern = /^sha(?:256:[0-9a-f]{64}|512:[0-9a-f]{128})$/

/** Chooses an image by tag or digest. A tag is resolved when it is chosen, so that the address shows the same images later. */
export function ImageChoice({ label, repo, digest, onChoose }: ImageChoiceProps) {
  const queries = useQueryClient()
  const [text, setText] = useState(digest)
  const [problem, setProblem] = useState<string>()
  const nextSignal = useLatestSignal()
  // The address follows later: it must not replace what is typed until then.
  const isTyping = useRef(false)
  useEffect(() => {
    if (!isTyping.current) setText(digest)
  }, [digest])
  const type = (next: string) => {
    nextSignal()
    isTyping.current = true
    setText(next)
  }
  const choose = async (event: FormEvent) => {
    event.preventDefault()
    const signal = nextSignal()
    const reference = text.trim()
    setProblem(undefined)
    const select = (found: string) => {
      isTyping.current = false
      setText(found)
      onChoose(found)
    }
    if (reference === '' || digestPattern.test(reference)) return select(reference)
    if (reference.includes(':')) return setProblem('A digest is sha256: and 64 hexadecimal digits.')
    try {
      const found = await queries.fetchQuery({ ...tagDigestQuery(repo, reference), staleTime: 0 })
      if (signal.aborted) return
      if (found === null) setProblem(`The repository has no tag ${reference}.`)
      else select(found)
    } catch (error) {
      if (!signal.aborted) setProblem(messageOf(error))
    }
  }
  return (
    <Form className="compare-choice" onSubmit={(event) => void choose(event)} validationBehavior="aria">
      <TextField
        className="field"
        value={text}
        onChange={type}
        isInvalid={problem !== undefined}
        autoComplete="off"
      >
        <Label>{label}</Label>
        <div className="combobox">
          <Input />
          <Button type="submit" className="icon-button" aria-label={`Use as the ${label.toLowerCase()}`}>
            <ArrowRight aria-hidden size={16} />
          </Button>
        </div>
        <Text slot="description" className="hint">
          Tag or digest
        </Text>
        <FieldError className="error">{problem}</FieldError>
      </TextField>
    </Form>
  )
}
