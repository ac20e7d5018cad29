/** The page of an unsubscribe link in Spanish. */
import type { UnsubscribeWords } from './unsubscribe-words.js'

export const spanish: UnsubscribeWords = {
  unknownSender: 'un remitente desconocido',
  asks: {
    title: '¿Cancelar la suscripción?',
    text: {
      mail: 'Ha recibido correo de {sender} en {address}. Si cancela la suscripción, la organización de este remitente no podrá enviar más correo a esta dirección a través de este servidor, ni siquiera los mensajes que usted pida.',
      broadcasts:
        'Ha recibido correo de {sender} en {address}. Si cancela la suscripción, esta dirección no recibirá más correo de esta lista. Los mensajes que usted pida, como un enlace para una contraseña nueva, seguirán llegando.',
    },
  },
  button: 'Cancelar la suscripción',
  ifNothing: 'Si no hace nada, nada cambia.',
  done: {
    title: 'Su suscripción está cancelada',
    text: {
      mail: '{address} no recibirá más correo de {sender}. Un mensaje que ya está en camino todavía puede llegar.',
      broadcasts:
        '{address} no recibirá más correo de esta lista de {sender}. Un mensaje que ya está en camino todavía puede llegar.',
    },
  },
  doneBefore: {
    title: 'Su suscripción ya estaba cancelada',
    text: {
      mail: '{address} no recibe correo de {sender}. No queda nada por hacer.',
      broadcasts: '{address} no recibe correo de esta lista de {sender}. No queda nada por hacer.',
    },
  },
  undone: {
    title: 'Su suscripción está activa',
    text: {
      mail: '{address} recibe correo de {sender} como antes.',
      broadcasts: '{address} recibe correo de esta lista de {sender} como antes.',
    },
  },
  stays: {
    title: 'Su suscripción sigue cancelada',
    text: {
      mail: 'Esto no se puede deshacer aquí. Para volver a recibir correo en {address}, diríjase a {sender}.',
      broadcasts:
        'Esto no se puede deshacer aquí. Para volver a recibir correo de esta lista en {address}, diríjase a {sender}.',
    },
  },
  mistake: '¿Ha sido un error? Puede deshacerlo durante una hora.',
  undoButton: 'Volver a suscribirse',
  tooLate: 'Esto no se puede deshacer aquí. Si cambia de opinión, diríjase al remitente.',
}
