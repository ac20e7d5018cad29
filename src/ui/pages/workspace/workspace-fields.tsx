/** The fields of a workspace in forms. */
import type { VNode } from 'preact'
import { TextField } from '../../components/fields.tsx'
import { readText } from '../../components/form-values.ts'

interface WorkspaceFieldsProps {
  readonly name?: string
  readonly iconUrl?: string | null
}

export function WorkspaceFields({ name = '', iconUrl = null }: WorkspaceFieldsProps): VNode {
  return (
    <>
      <TextField name="name" label="Name" value={name} maxLength={100} />
      <TextField
        name="icon_url"
        label="URL of a picture"
        type="url"
        optional
        value={iconUrl ?? ''}
        placeholder="https://example.com/logo.png"
        hint="Programs that show the workspace can use it. The dashboard does not load pictures from other hosts."
      />
    </>
  )
}

export function readWorkspaceValues(values: FormData): { readonly name: string; readonly icon_url: string | null } {
  return { name: readText(values, 'name'), icon_url: readText(values, 'icon_url') || null }
}
