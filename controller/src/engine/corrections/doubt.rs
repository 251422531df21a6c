//! Reasons why the result of a write is unknown, as a closed set of texts for people and labels for a metric.

/// Reason why the result of a write is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// The connection failed or broke.
    NoAnswer,
    /// No connection was made, so that certainly nothing was sent.
    NotConnected,
    /// The step's deadline passed, or the response was 408.
    TimedOut,
    /// The external system refuses the credential: status 401, or a refused log-in.
    CredentialRefused,
    /// The account lacks a right: status 403 and its like.
    Forbidden,
    /// The response was 429.
    RateLimited,
    /// The response was a 5xx status.
    ServerError,
    /// The controller's credential cannot be used, for a reason that [`CredentialError`](drift_api::secrets::labelled_secrets::CredentialError)
    /// has. Nothing was sent.
    CredentialUnavailable,
    /// The server asks for a way to log in that is not used. No statement was sent.
    LoginUnsupported,
    /// A Secret in the request cannot be used, for a reason as above. Nothing was sent.
    SecretUnavailable,
    /// The token server refuses the credential. Nothing was sent.
    TokenRefused,
    /// The token server returned no token. Nothing was sent.
    TokenUnavailable,
    /// The host's address is in a network that the target does not allow. Nothing was sent.
    AddressRefused,
    /// A template of the steps fails for the object. Nothing was sent.
    TemplateFails,
    /// `forEach` of a step gives more items than are sent. Nothing of that step was sent.
    TooManyItems,
    /// The body repeats what an answer gives for a field that holds a secret. The request was not sent.
    RepeatsAnswer,
    /// The API server, which is the target of the correction itself, did not respond, or responded with 5xx.
    ApiServerUnavailable,
    /// The API server responded with 429.
    ApiServerBusy,
    /// The API server responded with 401 or 403, so the controller lacks a permission.
    RightMissing,
    /// A Job was created, and the API server does not let us read it.
    JobUnseen,
    /// The controller stopped: it lost leadership or is shutting down.
    CutOff,
}

impl Doubt {
    /// Returns true if certainly nothing was sent.
    #[must_use]
    pub const fn sent_nothing(self) -> bool {
        matches!(
            self,
            Self::CredentialUnavailable
                | Self::LoginUnsupported
                | Self::SecretUnavailable
                | Self::TokenRefused
                | Self::TokenUnavailable
                | Self::AddressRefused
                | Self::TemplateFails
                | Self::TooManyItems
                | Self::RepeatsAnswer
        )
    }

    /// Returns true if certainly no request was sent, not even to a token server or for a login.
    #[must_use]
    pub const fn asked_nobody(self) -> bool {
        self.sent_nothing() && !matches!(self, Self::TokenRefused | Self::TokenUnavailable | Self::LoginUnsupported)
    }

    /// Returns true if the API server temporarily refused a correction of its own objects. It refuses before
    /// it changes anything.
    #[must_use]
    pub const fn is_refusal_of_api_server(self) -> bool {
        matches!(self, Self::RightMissing | Self::ApiServerBusy)
    }

    /// Returns the closed text for people.
    #[must_use]
    pub const fn as_text(self) -> &'static str {
        match self {
            Self::NoAnswer => "no answer from the external system",
            Self::NotConnected => "no connection to the external system",
            Self::TimedOut => "the external system did not answer in time",
            Self::CredentialRefused => "the external system refuses the controller's credential",
            Self::Forbidden => "the external system does not allow the controller's account this write",
            Self::RateLimited => "the external system asks for fewer requests",
            Self::ServerError => "the external system answers with an error",
            Self::CredentialUnavailable | Self::LoginUnsupported => "the controller's credential cannot be used",
            Self::SecretUnavailable => "a Secret that is to be sent cannot be used",
            Self::TokenRefused | Self::TokenUnavailable => "the controller gets no token",
            Self::AddressRefused => "the host's address is in a network that the target does not allow",
            Self::TemplateFails => "a template of the correction cannot be evaluated for this object",
            Self::TooManyItems => "forEach gives more than 100 items",
            Self::RepeatsAnswer => "not sent: the body repeats what an answer shows in place of a secret",
            Self::ApiServerUnavailable => "the API server gives no usable answer",
            Self::ApiServerBusy => "the API server asks for fewer requests",
            Self::JobUnseen => "a Job was begun, and what became of it cannot be seen",
            Self::RightMissing => "the API server says that the controller lacks a right",
            Self::CutOff => "the controller had to stop before the answer came",
        }
    }

    /// Returns the label of the metric.
    #[must_use]
    pub const fn as_label(self) -> &'static str {
        match self {
            Self::NoAnswer => "no_answer",
            Self::NotConnected => "not_connected",
            Self::TimedOut => "timed_out",
            Self::CredentialRefused => "credential_refused",
            Self::Forbidden => "forbidden",
            Self::RateLimited => "rate_limited",
            Self::ServerError => "server_error",
            Self::CredentialUnavailable => "credential_unavailable",
            Self::LoginUnsupported => "login_unsupported",
            Self::SecretUnavailable => "secret_unavailable",
            Self::TokenRefused => "token_refused",
            Self::TokenUnavailable => "token_unavailable",
            Self::AddressRefused => "address_refused",
            Self::TemplateFails => "template_fails",
            Self::TooManyItems => "too_many_items",
            Self::RepeatsAnswer => "repeats_answer",
            Self::ApiServerUnavailable => "api_server_unavailable",
            Self::ApiServerBusy => "api_server_busy",
            Self::RightMissing => "right_missing",
            Self::JobUnseen => "job_unseen",
            Self::CutOff => "cut_off",
        }
    }
}
