/** The second factor: codes of an authenticator app, and recovery codes. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { blameField } from '../../api/blame-field.ts'
import { sessionApi, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readExactText, readText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { Section } from '../../components/page.tsx'
import { Copy, StatusBadge } from '../../components/values.tsx'
import { readSession } from '../../session/sign-in.ts'
import { QrCode } from './qr-code.tsx'
import { RecoveryCodes, RecoveryCodesLeft, ReplaceCodesDialog } from './recovery-codes.tsx'

interface SecondFactorProps {
  readonly enabled: boolean
  readonly codesLeft: number
}

export function SecondFactorSection({ enabled, codesLeft }: SecondFactorProps): VNode {
  const [open, setOpen] = useState<'no' | 'factor' | 'codes'>('no')
  const close = (): void => setOpen('no')
  return (
    <Section title="Second factor" intro="You sign in with your password and a code from an authenticator app.">
      {enabled ? <RecoveryCodesLeft left={codesLeft} onReplace={() => setOpen('codes')} /> : null}
      <div class="form-actions">
        <StatusBadge status={enabled ? 'enabled' : 'off'} tone={enabled ? 'good' : 'neutral'} />
        <Button onClick={() => setOpen('factor')}>{enabled ? 'Turn it off' : 'Set it up'}</Button>
      </div>
      {open === 'codes' ? <ReplaceCodesDialog onClose={close} /> : null}
      {open === 'factor' && enabled ? <DisableDialog onClose={close} /> : null}
      {open === 'factor' && !enabled ? <EnableDialog onClose={close} /> : null}
    </Section>
  )
}

type Step =
  | { readonly kind: 'password' }
  | { readonly kind: 'code'; readonly secret: string; readonly uri: string }
  | { readonly kind: 'recovery'; readonly codes: readonly string[] }

function EnableDialog({ onClose }: { readonly onClose: () => void }): VNode {
  const [step, setStep] = useState<Step>({ kind: 'password' })
  const begin = async (values: FormData): Promise<void> => {
    const body = { password: readExactText(values, 'password') }
    setStep({ kind: 'code', ...(await blameField('password', unwrap(sessionApi.POST('/ui/api/totp', { body })))) })
  }
  const confirm = async (values: FormData): Promise<void> => {
    const body = { code: readText(values, 'code') }
    const { recovery_codes: codes } = await blameField(
      'code',
      unwrap(sessionApi.POST('/ui/api/totp/confirm', { body })),
    )
    setStep({ kind: 'recovery', codes })
  }
  const finish = async (): Promise<void> => {
    onClose()
    await readSession()
  }
  if (step.kind === 'recovery')
    return <RecoveryCodes title="The second factor is on" codes={step.codes} onClose={finish} />
  return (
    <Dialog title="Set up the second factor" onClose={onClose}>
      {step.kind === 'password' ? (
        <Form key="password" onSubmit={begin}>
          <TextField name="password" label="Your password" type="password" autoComplete="current-password" />
          <DialogActions label="Continue" onClose={onClose} />
        </Form>
      ) : (
        <CodeForm secret={step.secret} uri={step.uri} onSubmit={confirm} onClose={onClose} />
      )}
    </Dialog>
  )
}

interface CodeFormProps {
  readonly secret: string
  readonly uri: string
  readonly onSubmit: (values: FormData) => Promise<void>
  readonly onClose: () => void
}

function CodeForm({ secret, uri, onSubmit, onClose }: CodeFormProps): VNode {
  return (
    <Form key="code" onSubmit={onSubmit}>
      <p>Scan this code with an authenticator app, or type in the secret. Then enter the code that the app shows.</p>
      <QrCode text={uri} label="QR code of the secret for an authenticator app" />
      <p>
        Secret: <Copy text={secret} label="the secret" />
      </p>
      <TextField name="code" label="Code from the app" inputMode="numeric" autoComplete="one-time-code" />
      <DialogActions label="Turn it on" onClose={onClose} />
    </Form>
  )
}

function DialogActions({ label, onClose }: { readonly label: string; readonly onClose: () => void }): VNode {
  return (
    <FormActions>
      <SubmitButton>{label}</SubmitButton>
      <Button onClick={onClose}>Cancel</Button>
    </FormActions>
  )
}

function DisableDialog({ onClose }: { readonly onClose: () => void }): VNode {
  const disable = async (values: FormData): Promise<void> => {
    const body = { password: readExactText(values, 'password'), code: readText(values, 'code') }
    await blameField('password', unwrap(sessionApi.DELETE('/ui/api/totp', { body })))
    notify('The second factor is off. All other sessions have ended.')
    onClose()
    await readSession()
  }
  return (
    <Dialog title="Turn off the second factor" onClose={onClose}>
      <Form onSubmit={disable}>
        <TextField name="password" label="Your password" type="password" autoComplete="current-password" />
        <TextField
          name="code"
          label="Code"
          autoComplete="one-time-code"
          hint="A code from the authenticator app, or a recovery code."
        />
        <FormActions>
          <SubmitButton tone="danger">Turn it off</SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}
