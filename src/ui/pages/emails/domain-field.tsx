/**
 * The domain of a sender. The user chooses one of all verified domains, or searches by the beginning if there are
 * many.
 */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sessionApi, unwrap } from '../../api/client.ts'
import type { paths } from '../../api/session-schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { SelectField, TextField } from '../../components/fields.tsx'

type Answers = paths['/ui/api/sending-domains']['get']['responses']
export type FoundDomains = Answers[200]['content']['application/json']

export function findDomains(beginning: string): Promise<FoundDomains> {
  return unwrap(sessionApi.GET('/ui/api/sending-domains', { params: { query: { beginning } } }))
}

interface DomainFieldProps {
  /** Those that a search without a beginning found. */
  readonly domains: FoundDomains
  /** The domain that is chosen at first. */
  readonly value: string
}

export function DomainField({ domains, value: chosen }: DomainFieldProps): VNode {
  if (domains.has_more) return <SearchedDomain first={domains.data} value={chosen} />
  const options = domains.data.map((value) => ({ value, label: value }))
  return <SelectField name="domain" label="Domain" options={options} value={chosen} />
}

function SearchedDomain({ first, value }: { readonly first: readonly string[]; readonly value: string }): VNode {
  const [beginning, setBeginning] = useState('')
  const found = useLoad(() => findDomains(beginning.trim()), [beginning])
  return (
    <TextField
      name="domain"
      label="Domain"
      value={value}
      hint="Type the beginning of a verified domain, and choose one that is offered."
      suggestions={found.data?.data ?? first}
      onInput={setBeginning}
    />
  )
}
