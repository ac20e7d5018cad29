/**
 * Tries an operation of the interface with the user's own session in the chosen workspace. Each request that changes
 * something asks before it is sent.
 */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { type PlainAnswer, type PlainRequest, sendPlain } from '../../api/client.ts'
import { workspace } from '../../api/session-state.ts'
import { useLoad } from '../../api/use-load.ts'
import { buttonClass } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { FileField, TextArea, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Facts, StatusBadge } from '../../components/values.tsx'
import { BODY_FIELD, fieldOf, loadOperation, type Operation, readRequest } from './operation.ts'

export function TryPage({ params: { operation: id = '' } }: PageProps): VNode {
  const operation = useLoad(() => loadOperation(id), [id])
  return (
    <Page
      title={operation.data?.summary ?? 'Try an operation'}
      intro="The request goes to this server with your session, in the workspace that you have chosen. Programs send the same request with a key."
    >
      <Loaded from={operation}>
        {(found) =>
          found === null ? (
            <Empty title="There is no such operation">
              <p>The documentation of the interface has links to all of them.</p>
            </Empty>
          ) : (
            <Trial key={id} id={id} operation={found} />
          )
        }
      </Loaded>
    </Page>
  )
}

interface TrialProps {
  readonly id: string
  readonly operation: Operation
}

function Trial({ id, operation }: TrialProps): VNode {
  const [asked, setAsked] = useState<PlainRequest | null>(null)
  const [answer, setAnswer] = useState<PlainAnswer | null>(null)
  const send = async (request: PlainRequest): Promise<void> => setAnswer(await sendPlain(request))
  const submit = async (values: FormData): Promise<void> => {
    const request = readRequest(operation, values)
    if (request.method === 'GET') await send(request)
    else setAsked(request)
  }
  return (
    <>
      <p>
        <code>
          {operation.method} {operation.path}
        </code>
      </p>
      <Form onSubmit={submit}>
        <ParameterFields parameters={operation.parameters} />
        <BodyField body={operation.body} />
        <FormActions>
          <SubmitButton>Send the request</SubmitButton>
          <a class={buttonClass('quiet')} href={`/ui/docs/${operation.resource}#${id}`}>
            Documentation
          </a>
        </FormActions>
      </Form>
      {asked === null ? null : (
        <Question request={asked} onConfirm={() => send(asked)} onClose={() => setAsked(null)} />
      )}
      {answer === null ? null : <Answer answer={answer} />}
    </>
  )
}

function ParameterFields({ parameters }: Pick<Operation, 'parameters'>): VNode {
  return (
    <>
      {parameters.map((parameter) => (
        <TextField
          key={parameter.name}
          name={fieldOf(parameter)}
          label={parameter.name}
          hint={parameter.description}
          optional={parameter.in !== 'path' && parameter.required !== true}
        />
      ))}
    </>
  )
}

function BodyField({ body }: Pick<Operation, 'body'>): VNode | null {
  if (body === null) return null
  if (body.type === 'multipart/form-data') return <FileField name={BODY_FIELD} label="File" />
  const isJson = body.type === 'application/json'
  const hint = isJson ? 'An example in JSON: put your own values in it.' : body.type
  return <TextArea name={BODY_FIELD} label="Body" hint={hint} value={body.example} rows={14} mono optional={!isJson} />
}

interface QuestionProps {
  readonly request: PlainRequest
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

function Question({ request: { method, path }, onConfirm, onClose }: QuestionProps): VNode {
  const name = workspace.value?.name ?? ''
  return (
    <ConfirmDialog
      title={method === 'DELETE' ? 'Delete it?' : 'Send this request?'}
      action={`Send ${method}`}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>
        <code>
          {method} {path}
        </code>
      </p>
      <p>This is no rehearsal: the request changes the workspace “{name}” or sends mail from it.</p>
    </ConfirmDialog>
  )
}

function Answer({ answer: { status, type, text } }: { readonly answer: PlainAnswer }): VNode {
  return (
    <Section title="Answer">
      <Facts
        facts={[
          {
            name: 'Status',
            value: (
              <StatusBadge status={String(status)} tone={status < 400 ? 'good' : 'bad'}>
                {status}
              </StatusBadge>
            ),
          },
          { name: 'Type', value: type === '' ? 'None' : type },
        ]}
      />
      {text === '' ? <p class="soft">The body is empty.</p> : <pre tabindex={0}>{text}</pre>}
    </Section>
  )
}
