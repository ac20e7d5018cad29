/** One contact: its fields, the emails to its address, and its deletion. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { type Loading, useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page, Section } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Facts, Time } from '../../components/values.tsx'
import { type Audience, type Contact, loadAllAudiences } from './audience.ts'
import { ContactFields, readContact } from './contact-fields.tsx'
import { SubscriptionBadge } from './contact-list.tsx'
import { ContactMail } from './contact-mail.tsx'

export function ContactPage({ params: { id = '' } }: PageProps): VNode {
  const path = { id }
  const contact = useLoad(() => unwrap(api.GET('/v1/contacts/{id}', { params: { path } })), [id])
  const audiences = useLoad(loadAllAudiences)
  const { data } = contact
  const audience = audiences.data?.find((one) => one.id === data?.audience_id)
  return (
    <Page
      title={data?.email ?? 'Contact'}
      badge={data === undefined ? null : <SubscriptionBadge subscribed={data.subscribed} />}
      up={
        audience === undefined
          ? { href: '/contacts', label: 'Contacts' }
          : { href: `/audiences/${audience.id}`, label: audience.name }
      }
    >
      <Loaded from={contact}>
        {(shown) => (
          <>
            <Facts
              facts={[
                { name: 'Audience', value: audience?.name ?? (shown.audience_id === null ? 'None' : '…') },
                { name: 'Added', value: <Time at={shown.created_at} /> },
                { name: 'Changed', value: <Time at={shown.updated_at} /> },
              ]}
            />
            <ContactForm contact={shown} audiences={audiences} onSaved={contact.replace} />
            <ContactMail address={shown.email} />
            <ContactDeletion contact={shown} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

interface ContactFormProps {
  readonly contact: Contact
  readonly audiences: Loading<readonly Audience[]>
  readonly onSaved: (contact: Contact) => void
}

function ContactForm({ contact, audiences, onSaved }: ContactFormProps): VNode {
  const params = { path: { id: contact.id } }
  const save = async (values: FormData): Promise<void> => {
    onSaved(await unwrap(api.PATCH('/v1/contacts/{id}', { params, body: readContact(values) })))
    notify('The contact is saved.')
  }
  return (
    <Section title="Fields">
      <Loaded from={audiences}>
        {(all) => (
          <Form onSubmit={save}>
            <ContactFields audiences={all} contact={contact} />
            <FormActions>
              <SubmitButton>Save the contact</SubmitButton>
            </FormActions>
          </Form>
        )}
      </Loaded>
    </Section>
  )
}

function ContactDeletion({ contact: { id, email, audience_id: audienceId } }: { readonly contact: Contact }): VNode {
  const [open, setOpen] = useState(false)
  const [, navigate] = useLocation()
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/contacts/{id}', { params: { path: { id } } }))
    notify(`${email} is deleted.`)
    navigate(audienceId === null ? '/contacts' : `/audiences/${audienceId}`)
  }
  return (
    <Section
      title="Delete the contact"
      intro="To stop broadcasts to this address, unsubscribe the contact instead: a later import does not undo that by mistake."
    >
      <Button tone="danger" onClick={() => setOpen(true)}>
        Delete the contact
      </Button>
      {open ? (
        <ConfirmDialog
          title={`Delete ${email}?`}
          name={email}
          action="Delete the contact"
          onConfirm={remove}
          onClose={() => setOpen(false)}
        >
          <p>The contact is deleted with its metadata. You cannot restore it.</p>
        </ConfirmDialog>
      ) : null}
    </Section>
  )
}
