//! Why nobody knows whether a write was done: the closed set of words for people and for a metric.
//!
//! This file knows only the words.

/// Why nobody knows whether a write was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// No connection, or it broke.
    NoAnswer,
    /// No answer within the step's deadline, or 408.
    TimedOut,
    /// 401 or 403.
    CredentialRefused,
    /// 429.
    RateLimited,
    /// 5xx.
    ServerError,
    /// The Secret is missing, not labelled for the controller, or not for this host: nothing was sent.
    CredentialUnavailable,
    /// A Secret that is to be sent is missing, not labelled for that, not for this host, or may not be read: nothing was sent.
    SecretUnavailable,
    /// The token server gives no token: nothing was sent.
    TokenUnavailable,
    /// The host's address is in a network that the target does not allow: nothing was sent.
    AddressRefused,
    /// A template of the steps cannot be evaluated for the object: nothing was sent.
    TemplateFails,
    /// The API server, to which the correction itself goes, does not answer, or with 5xx.
    ApiServerUnavailable,
    /// The API server answers 429.
    ApiServerBusy,
    /// The API server answers 401 or 403: the controller lacks a right.
    RightMissing,
    /// A Job was begun, and the API server does not let us look at it.
    JobUnseen,
    /// We stopped: leadership was lost or the process is ending.
    CutOff,
}

impl Doubt {
    /// Returns true if it is certain that nothing was sent.
    #[must_use]
    pub const fn sent_nothing(self) -> bool {
        matches!(
            self,
            Self::CredentialUnavailable
                | Self::SecretUnavailable
                | Self::TokenUnavailable
                | Self::AddressRefused
                | Self::TemplateFails
        )
    }

    /// Returns true if it is certain that nobody was asked for anything: no token server either.
    #[must_use]
    pub const fn asked_nobody(self) -> bool {
        self.sent_nothing() && !matches!(self, Self::TokenUnavailable)
    }

    /// Returns true if the API server refused a correction that goes to itself, for a reason that may pass: it does so before it does
    /// anything.
    #[must_use]
    pub const fn is_refusal_of_api_server(self) -> bool {
        matches!(self, Self::RightMissing | Self::ApiServerBusy)
    }

    /// The closed sentence for people.
    #[must_use]
    pub const fn as_text(self) -> &'static str {
        match self {
            Self::NoAnswer => "no answer from the external system",
            Self::TimedOut => "the external system did not answer in time",
            Self::CredentialRefused => "the external system refuses the controller's credential",
            Self::RateLimited => "the external system asks for fewer requests",
            Self::ServerError => "the external system answers with an error",
            Self::CredentialUnavailable => {
                "the Secret with the controller's credential is missing, not labelled for the controller, or not for this host"
            }
            Self::SecretUnavailable => {
                "a Secret that is to be sent is missing, not labelled for that, not for this host, or may not be read"
            }
            Self::TokenUnavailable => "the token server refuses the controller's credential, or gives no token",
            Self::AddressRefused => "the host's address is in a network that the target does not allow",
            Self::TemplateFails => "a template of the correction cannot be evaluated for this object",
            Self::ApiServerUnavailable => "the API server gives no usable answer",
            Self::ApiServerBusy => "the API server asks for fewer requests",
            Self::JobUnseen => "a Job was begun, and what became of it cannot be seen",
            Self::RightMissing => "the API server says that the controller lacks a right",
            Self::CutOff => "the controller had to stop before the answer came",
        }
    }

    /// The label of the metric.
    #[must_use]
    pub const fn as_label(self) -> &'static str {
        match self {
            Self::NoAnswer => "no_answer",
            Self::TimedOut => "timed_out",
            Self::CredentialRefused => "credential_refused",
            Self::RateLimited => "rate_limited",
            Self::ServerError => "server_error",
            Self::CredentialUnavailable => "credential_unavailable",
            Self::SecretUnavailable => "secret_unavailable",
            Self::TokenUnavailable => "token_unavailable",
            Self::AddressRefused => "address_refused",
            Self::TemplateFails => "template_fails",
            Self::ApiServerUnavailable => "api_server_unavailable",
            Self::ApiServerBusy => "api_server_busy",
            Self::RightMissing => "right_missing",
            Self::JobUnseen => "job_unseen",
            Self::CutOff => "cut_off",
        }
    }
}
