/** The fields of a contact. */
import type { VNode } from 'preact'
import { CheckField, SelectField, TextField } from '../../components/fields.tsx'
import { readFlag, readText } from '../../components/form-values.ts'
import type { Audience, Contact } from './audience.ts'
import { MetadataFields, readMetadata } from './metadata-fields.tsx'

interface ContactFieldsProps {
  readonly audiences: readonly Audience[]
  readonly contact?: Contact
  /** The audience of a new contact. */
  readonly audienceId?: string | null
}

export function ContactFields({ audiences, contact, audienceId = null }: ContactFieldsProps): VNode {
  const current = contact?.audience_id ?? audienceId ?? ''
  const named = audiences.map(({ id, name }) => ({ value: id, label: name }))
  const isNamed = current === '' || named.some(({ value }) => value === current)
  const options = isNamed ? named : [{ value: current, label: current }, ...named]
  return (
    <>
      <TextField name="email" label="Address" type="email" inputMode="email" value={contact?.email ?? ''} />
      <TextField name="first_name" label="First name" value={contact?.first_name ?? ''} optional maxLength={255} />
      <TextField name="last_name" label="Last name" value={contact?.last_name ?? ''} optional maxLength={255} />
      <SelectField
        name="audience_id"
        label="Audience"
        options={[{ value: '', label: 'None' }, ...options]}
        value={contact === undefined ? current : (contact.audience_id ?? '')}
      />
      <CheckField
        name="subscribed"
        label="Subscribed"
        checked={contact?.subscribed ?? true}
        hint="Broadcasts go to subscribed contacts. Other mail is not affected."
      />
      <MetadataFields metadata={contact?.metadata} />
    </>
  )
}

interface ContactValues {
  email: string
  first_name: string | null
  last_name: string | null
  audience_id: string | null
  subscribed: boolean
  metadata: Record<string, unknown>
}

/** Throws an ApiError for metadata that cannot be read. */
export function readContact(values: FormData): ContactValues {
  return {
    email: readText(values, 'email'),
    first_name: readText(values, 'first_name') || null,
    last_name: readText(values, 'last_name') || null,
    audience_id: readText(values, 'audience_id') || null,
    subscribed: readFlag(values, 'subscribed'),
    metadata: readMetadata(values),
  }
}
