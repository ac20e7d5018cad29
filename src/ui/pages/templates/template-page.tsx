/** The editor of a template, new or stored, with a live preview. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { readExactText, readText } from '../../components/form-values.ts'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page, Section } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Copy, Facts, Time } from '../../components/values.tsx'
import { TemplateEditor } from './template-editor.tsx'

type Template = components['schemas']['Template']

const up = { href: '/templates', label: 'Templates' }

export function NewTemplatePage(): VNode {
  const [, navigate] = useLocation()
  const create = async (values: FormData): Promise<void> => {
    const { id, name } = await unwrap(api.POST('/v1/templates', { body: readTemplate(values) }))
    notify(`The template “${name}” is created.`)
    navigate(`/templates/${id}`)
  }
  return (
    <Page title="Create a template" up={up}>
      <TemplateEditor template={null} action="Create the template" onSubmit={create} />
    </Page>
  )
}

export function TemplatePage({ params: { id = '' } }: PageProps): VNode {
  const path = { id }
  const template = useLoad(() => unwrap(api.GET('/v1/templates/{id}', { params: { path } })), [id])
  const save = async (values: FormData): Promise<void> => {
    template.replace(await unwrap(api.PATCH('/v1/templates/{id}', { params: { path }, body: readTemplate(values) })))
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
function readTemplate(values: FormData) {
  return {
    name: readText(values, 'name'),
    subject: readText(values, 'subject'),
    html: readExactText(values, 'html') || null,
    text: readExactText(values, 'text') || null,
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
    <Section title="Delete the template" intro="Requests with its id will be refused.">
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
