/** The fields of an audience. */
import type { VNode } from 'preact'
import { TextArea, TextField } from '../../components/fields.tsx'
import { readExactText, readText } from '../../components/form-values.ts'
import type { Audience } from './audience.ts'

interface AudienceFieldsProps {
  readonly audience?: Pick<Audience, 'name' | 'description'>
}

export function AudienceFields({ audience }: AudienceFieldsProps): VNode {
  return (
    <>
      <TextField name="name" label="Name" value={audience?.name ?? ''} maxLength={100} />
      <TextArea
        name="description"
        label="Description"
        value={audience?.description ?? ''}
        optional
        rows={3}
        hint="Recipients do not see it."
      />
    </>
  )
}

export function readAudience(values: FormData): { name: string; description: string | null } {
  return { name: readText(values, 'name'), description: readExactText(values, 'description').trim() || null }
}
