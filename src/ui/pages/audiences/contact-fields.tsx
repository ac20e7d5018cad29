/** The fields of a contact. Its metadata is a JSON object. */
import type { VNode } from 'preact'
import { toFieldError } from '../../api/api-error.ts'
import { CheckField, SelectField, TextArea, TextField } from '../../components/fields.tsx'
import { readExactText, readFlag, readText } from '../../components/form-values.ts'
import type { Audience, Contact } from './audience.ts'

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
      <TextArea
        name="metadata"
        label="Metadata"
        mono
        optional
        rows={7}
        value={formatMetadata(contact?.metadata)}
        placeholder='{ "plan": "pro" }'
        hint="A JSON object. A broadcast uses the value of plan as {{metadata.plan}}."
      />
    </>
  )
}

function formatMetadata(metadata: Contact['metadata'] | undefined): string {
  return metadata === undefined || Object.keys(metadata).length === 0 ? '' : JSON.stringify(metadata, null, 2)
}

interface ContactValues {
  email: string
  first_name: string | null
  last_name: string | null
  audience_id: string | null
  subscribed: boolean
  metadata: Record<string, unknown>
}

/** Throws an ApiError for metadata that is not a JSON object. */
export function readContact(values: FormData): ContactValues {
  return {
    email: readText(values, 'email'),
    first_name: readText(values, 'first_name') || null,
    last_name: readText(values, 'last_name') || null,
    audience_id: readText(values, 'audience_id') || null,
    subscribed: readFlag(values, 'subscribed'),
    metadata: readJsonObject(values, 'metadata'),
  }
}

/** An empty field means an empty object. */
function readJsonObject(values: FormData, name: string): Record<string, unknown> {
  const object = parseJsonObject(readExactText(values, name))
  if (object !== null) return object
  throw toFieldError(name, 'Must be a JSON object, such as { "plan": "pro" }.')
}

/** Null means that the text is not a JSON object. */
function parseJsonObject(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    return Object.fromEntries(Object.entries(value))
  } catch {
    return null
  }
}
