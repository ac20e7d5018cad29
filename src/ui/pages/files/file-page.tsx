/** Stores a file whose key programs name as an attachment. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { toFieldError } from '../../api/api-error.ts'
import { api, toUpload, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { FileField, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFile, readText } from '../../components/form-values.ts'
import { formatBytes } from '../../components/format.ts'
import { notify } from '../../components/notices.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Copy, Facts, Time } from '../../components/values.tsx'

type StoredFile = components['schemas']['CachedFile']

export function FilePage(): VNode {
  const [stored, setStored] = useState<StoredFile | null>(null)
  const store = async (values: FormData): Promise<void> => {
    const file = readFile(values, 'file')
    if (file === null) throw toFieldError('file', 'Choose a file.')
    const name = readText(values, 'name')
    const params = { query: { name: name === '' ? file.name : name } }
    setStored((await unwrap(api.POST('/v1/files', { params, ...toUpload(file) }))).data)
    notify('The file is stored.')
  }
  return (
    <Page
      title="Store a file"
      intro="Programs that send the same attachment often upload it once, and name its key in each email. Files of this kind cannot be listed: note the key."
      up={{ href: '/templates', label: 'Templates' }}
    >
      <Form onSubmit={store}>
        <FileField name="file" label="File" hint="At most 10 MB." />
        <TextField
          name="name"
          label="Name of the attachment"
          optional
          hint="Readers see this name. Without it, the name of the file is taken."
        />
        <FormActions>
          <SubmitButton>Store the file</SubmitButton>
        </FormActions>
      </Form>
      {stored === null ? null : <StoredFacts file={stored} />}
    </Page>
  )
}

function StoredFacts({ file }: { readonly file: StoredFile }): VNode {
  return (
    <Section title={file.name} intro="Write the key as file_cache_key among the attachments of an email.">
      <Facts
        facts={[
          { name: 'Key', value: <Copy text={file.file_cache_key} label="the key of the file" /> },
          { name: 'Size', value: formatBytes(file.size) },
          { name: 'Type', value: file.content_type },
          { name: 'Stored', value: <Time at={file.created_at} /> },
        ]}
      />
    </Section>
  )
}
