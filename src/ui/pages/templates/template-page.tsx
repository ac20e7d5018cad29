/** The editor of a template, new or stored, with a live preview. */
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { readText } from '../../components/form-values.ts'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page, Section } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Copy, Facts, Time } from '../../components/values.tsx'
import type { EditedContent } from './content-fields.tsx'
import { sourceOf } from './content-preview.tsx'
import { TemplateEditor } from './template-editor.tsx'

type Template = components['schemas']['Template']

const up = { href: '/templates', label: 'Templates' }

export function NewTemplatePage(): VNode {
  const [, navigate] = useLocation()
  const [created, setCreated] = useState<string | null>(null)
  const create = async (values: FormData, content: EditedContent): Promise<void> => {
    const { id, name } = await unwrap(api.POST('/v1/templates', { body: readTemplate(values, content) }))
    notify(`The template “${name}” is created.`)
    setCreated(id)
  }
  // The editor has noted by now that its text is saved.
  useEffect(() => {
    if (created !== null) navigate(`/templates/${created}`)
  }, [created])
  return (
    <Page title="Create a template" up={up}>
      <TemplateEditor template={null} action="Create the template" onSubmit={create} />
    </Page>
  )
}

export function TemplatePage({ params: { id = '' } }: PageProps): VNode {
  const path = { id }
  const template = useLoad(() => unwrap(api.GET('/v1/templates/{id}', { params: { path } })), [id])
  const known = useRef<string | undefined>(undefined)
  known.current ??= template.data?.updated_at
  const save = async (values: FormData, content: EditedContent): Promise<void> => {
    const expected = known.current === undefined ? {} : { if_updated_at: known.current }
    const body = { ...readTemplate(values, content), ...expected }
    const saved = await unwrap(api.PATCH('/v1/templates/{id}', { params: { path }, body }))
    known.current = saved.updated_at
    template.replace(saved)
    notify('The template is saved. Emails that were accepted before stay as they are.')
  }
  return (
    <Page title={template.data?.name ?? 'Template'} up={up}>
      <Loaded from={template}>
        {(data) => (
          <>
            <Facts
              facts={[
                { name: 'Template ID', value: <Copy text={data.id} label="the id of the template" /> },
                { name: 'Created', value: <Time at={data.created_at} /> },
                { name: 'Changed', value: <Time at={data.updated_at} /> },
              ]}
            />
            <Section title="Content">
              <TemplateEditor template={data} action="Save the template" onSubmit={save} />
            </Section>
            <TemplateDeletion template={data} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

/** The server makes a new list of variables from the texts. */
function readTemplate(values: FormData, content: EditedContent) {
  const { subject, text } = content
  return {
    name: readText(values, 'name'),
    subject: subject.trim(),
    ...sourceOf(content),
    text: text || null,
    variables: null,
  }
}

function TemplateDeletion({ template: { id, name } }: { readonly template: Template }): VNode {
  const [open, setOpen] = useState(false)
  const [, navigate] = useLocation()
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/templates/{id}', { params: { path: { id } } }))
    notify(`The template “${name}” is deleted.`)
    navigate('/templates')
  }
  return (
    <Section title="Delete the template" intro="Programs that send with it will get an error.">
      <Button tone="danger" onClick={() => setOpen(true)}>
        Delete the template
      </Button>
      {open ? (
        <ConfirmDialog
          title={`Delete “${name}”?`}
          name={name}
          action="Delete the template"
          onConfirm={remove}
          onClose={() => setOpen(false)}
        >
          <p>Programs that send with it get an error. Emails that were accepted before are still delivered.</p>
        </ConfirmDialog>
      ) : null}
    </Section>
  )
}
